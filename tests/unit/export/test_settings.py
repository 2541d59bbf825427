from __future__ import annotations

import pytest

from trafficgen.errors import SettingError
from trafficgen.export.settings import Setting, Settings

KNOWN = (
    Setting("mode", "exact", "How.", choices=("exact", "epochs")),
    Setting("epoch_s", 1.0, "Length of an epoch.", low=0.01, high=60),
    Setting("first_port", 5000, "First port.", low=1, high=65535),
    Setting("loop", False, "Whether it is repeated."),
)


def test_what_is_not_said_has_its_default() -> None:
    settings = Settings("tool", KNOWN, {"epoch_s": "0.5", "loop": "yes"})
    assert settings.text("mode") == "exact"
    assert settings.number("epoch_s") == 0.5
    assert settings.whole("first_port") == 5000
    assert settings.flag("loop") is True


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"modus": "exact"},
            r"no setting 'modus' \(did you mean mode\?\); its settings are: mode, epoch_s, ",
        ),
        ({"mode": "fast"}, "mode=fast cannot be set: it must be one of exact, epochs"),
        ({"epoch_s": "0"}, "it must lie in"),
        ({"epoch_s": "nan"}, "it must lie in"),
        ({"epoch_s": "soon"}, "it must be a number"),
        ({"first_port": "5000.5"}, "it must be a whole number"),
        ({"loop": "perhaps"}, "it must be on or off"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(given: dict[str, str], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Settings("tool", KNOWN, given)
