"""Starts the program."""

import json
import os
import shutil
import subprocess
import sysconfig


class RunError(RuntimeError):
    """The program ended with an error. status is its exit status: 1 a stage
    failed, 2 usage or configuration error, 3 input data error, 130 interrupted."""

    def __init__(self, status, text):
        super().__init__(text or "pipeline ended with status %d" % status)
        self.status = status


def program():
    """The path of the program: the environment variable DOUBLETAKE_PIPELINE, the
    one installed with this package, or the one in PATH."""
    if os.environ.get("DOUBLETAKE_PIPELINE"):
        return os.environ["DOUBLETAKE_PIPELINE"]
    name = "pipeline.exe" if os.name == "nt" else "pipeline"
    user = "nt_user" if os.name == "nt" else "posix_user"
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user)):
        p = os.path.join(folder, name)
        if os.access(p, os.X_OK):
            return p
    found = shutil.which("pipeline")
    if found is None:
        raise FileNotFoundError("the program pipeline is not installed: set DOUBLETAKE_PIPELINE, or install the wheel")
    return found


def run(config="pipeline.yaml", *arguments):
    """Runs everything of a configuration that is out of date and yields events as
    they come: dicts with "event" (plan, start, done, failed, note, message, end),
    "task", "stage", "seconds". Further arguments are the program's, such as
    "--experiment", "drone". Closing the generator interrupts the program, which
    keeps finished results. RunError where the program fails."""
    with subprocess.Popen(
        [program(), "run", os.fspath(config), "--progress", "json", *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
    ) as p:
        text = []
        try:
            for line in p.stderr:
                try:
                    event = json.loads(line)
                except ValueError:
                    text.append(line.rstrip("\n"))
                    continue
                yield event
        except BaseException:
            p.terminate()
            for _ in p.stderr:  # it still writes until it ends
                pass
            raise
        status = p.wait()
    if status:
        raise RunError(status, "\n".join(text))
