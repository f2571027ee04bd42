"""Pure text: the structure of a document and the edits on it."""
