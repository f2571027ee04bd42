"""`skillgit check`: a SKILL.md by the Agent Skills rules, and ours."""

from __future__ import annotations

import click


@click.command("check")
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(paths: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Check the documents at PATH, or those of skillgit.yaml; ends with 2 where one has an error.

    A SKILL.md has the frontmatter that agents need, and its links lead to files of its folder. No document has hidden
    characters, secrets, or markers of a protected region without their other half. Its length is only warned of.
    """
    from skillgit.cli import opened
    from skillgit.cli.output import one_line, print_json, say
    from skillgit.train.hooks import skill_files

    if paths:
        checked = skill_files.check_paths(paths)
    else:
        with opened.project() as project:
            checked = skill_files.check_configured(project)
    found = [(document.path, one) for document in checked for one in document.findings]
    errors = sum(one.level == "error" for _, one in found)
    if as_json:
        print_json([{"path": p, "line": o.line, "level": o.level, "message": o.message} for p, o in found])
    else:
        for path, one in found:
            mark = "warning: " if one.level == "warning" else ""
            print(f"{one_line(path)}:{one.line}: {mark}{one_line(one.message)}")
        counts = f"{_count(errors, 'error')}, {_count(len(found) - errors, 'warning')}" if found else "no findings"
        say(f"skillgit: {_count(len(checked), 'document')} checked: {counts}")
    return 2 if errors or (strict and found) else 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
