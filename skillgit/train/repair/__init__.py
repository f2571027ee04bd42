"""What is wrong with a skill's history, and putting it right from the journals."""
