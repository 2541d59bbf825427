"""Install wheels, each in a new environment, and run `trafficgen demo` there.

Wheels are those for this platform; `make release` builds them from the source archive, which is
tried by that. Pins are those of constraints.txt.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What the demo writes, among others.
RESULTS = ("model.json", "synthetic.pcap", "fit.html", "compare.html", "for-tcpreplay/README.md")


def installed(package: Path, folder: Path) -> Path:
    """Install a package file in a new environment; return the folder of its commands."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    commands = environment / "bin"
    pip = [
        str(commands / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--quiet",
        "install",
    ]
    run([*pip, "--constraint", str(ROOT / "constraints.txt"), f"{package}[report]"], folder)
    return commands


def run(command: list[str], folder: Path) -> str:
    """Return what a command prints; it runs in a folder where no source can be imported by chance.

    Raises:
        subprocess.CalledProcessError: If it exits with something else than 0.
    """
    done = subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=_bare()
    )
    return done.stdout


def _bare() -> dict[str, str]:
    """Return an environment in which Python finds what is installed and nothing else."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "TRAFFICGEN_PROGRESS": "0"}


def check(package: Path) -> str:
    """Return in a sentence what an installed package did.

    Raises:
        subprocess.CalledProcessError: If a command fails.
        ValueError: If another installation ran, or a result is missing.
    """
    with tempfile.TemporaryDirectory(prefix="trafficgen-release-") as name:
        folder = Path(name)
        commands = installed(package, folder)
        trafficgen = str(commands / "trafficgen")
        version = run([trafficgen, "--version"], folder).strip()
        place = run(
            [str(commands / "python"), "-c", "import trafficgen; print(trafficgen.__file__)"],
            folder,
        ).strip()
        if not Path(place).is_relative_to(folder):
            raise ValueError(f"{place} was imported, which is not what was installed")
        steps = run([trafficgen, "demo"], folder).splitlines()
        missing = [name for name in RESULTS if not (folder / "demo-results" / name).exists()]
        if missing:
            raise ValueError(f"trafficgen demo has not written {', '.join(missing)}")
        run([trafficgen, "models", "show", "wmedia9_nichols2004"], folder)
    return "\n  ".join([f"{package.name}: {version}", *steps])


def main() -> int:
    """Return 0 where all packages of this platform work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the wheels")
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    packages = sorted(folder.glob(f"*{platform.machine()}.whl"))
    if not packages:
        print(f"{folder} holds no wheel of this platform; make wheels builds it", file=sys.stderr)
        return 1
    for package in packages:
        print(check(package), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
