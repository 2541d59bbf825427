"""YAML files as plain values: only what JSON can express, every key once, no aliases."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from trafficgen.json_text import TOO_DEEP, JsonTextError, refuse_odd_values

if TYPE_CHECKING:
    import yaml

#: Characters from which on speed counts more than the words of an error in the syntax.
_FAST_FROM = 50_000
#: No model or workload has more levels: the slower loader ends at about this many.
_DEEPEST = 300
#: No number of a model or a workload has more characters.
_LONGEST_NUMBER = 100


class YamlTextError(ValueError):
    """YAML with content that our files may not have."""


@cache
def _loaders() -> tuple[type[yaml.SafeLoader], type[yaml.SafeLoader]]:
    """Return safe loaders that refuse content which would silently be lost or multiplied.

    The second is on libyaml, eight times as fast; it composes nodes itself, aliases with them.
    """
    import yaml  # noqa: PLC0415 - 0.01 s, and most models are JSON

    class _Loader(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()  # type: ignore[no-untyped-call]
                raise YamlTextError(
                    f"line {event.start_mark.line + 1}: aliases (*{event.anchor}) are not read"
                )
            return super().compose_node(parent, index)

    class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    for loader in (_Loader, _FastLoader):
        loader.add_constructor(
            yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repetition
        )
        loader.add_constructor("tag:yaml.org,2002:int", _short_number)
        # YAML 1.1 wants a point and a sign in 5e-06 and takes it for text; JSON and YAML 1.2 do
        # not.
        loader.add_implicit_resolver(
            "tag:yaml.org,2002:float",
            re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
            [*"-+.0123456789"],
        )
    return _Loader, _FastLoader


def _load(text: str) -> object:
    """Return the values of a document; the slower loader has clearer words for what is wrong."""
    import yaml  # noqa: PLC0415 - as above

    slow, fast = _loaders()
    try:
        return _load_fast(text, fast)
    except yaml.YAMLError:
        if len(text) >= _FAST_FROM:
            raise
        return yaml.load(text, Loader=slow)


def _load_fast(text: str, loader: type[yaml.SafeLoader]) -> object:
    import yaml  # noqa: PLC0415 - as above

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # libyaml takes the square of the depth
            raise YamlTextError(TOO_DEEP)
        if isinstance(event, yaml.AliasEvent):
            line = f"line {event.start_mark.line + 1}: " if event.start_mark is not None else ""
            raise YamlTextError(f"{line}aliases (*{event.anchor}) are not read")
    return yaml.load(text, Loader=loader)


def _mapping_without_repetition(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node)
        if key in found:
            raise YamlTextError(f"line {key_node.start_mark.line + 1}: {key!r} is given twice")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _short_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Return a whole number; base 60 (YAML 1.1) takes the square of the number of digits."""
    if len(node.value) > _LONGEST_NUMBER:
        raise YamlTextError(
            f"line {node.start_mark.line + 1}: a number has {len(node.value):,} characters"
        )
    return int(loader.construct_yaml_int(node))


def read_yaml(text: str) -> object:
    """Return the values of one YAML document, as JSON has them.

    Raises:
        YamlTextError: If it is not YAML, or holds a date, an alias or a key twice; the message
            names the line.
    """
    import yaml  # noqa: PLC0415 - as above

    try:
        found = _load(text)
        refuse_odd_values(found)
        return json.loads(json.dumps(found, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        raise YamlTextError(f"{line}{error.problem or error.context}") from error
    except JsonTextError as error:
        raise YamlTextError(str(error)) from error
    except RecursionError:
        raise YamlTextError(TOO_DEEP) from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        if isinstance(error, YamlTextError):
            raise
        raise YamlTextError(" ".join(str(error).split())) from error
