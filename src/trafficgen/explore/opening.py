"""Exploring models on a local page: `trafficgen explore`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from trafficgen.errors import ExploreError
from trafficgen.explore.application import application
from trafficgen.explore.controls import LARGEST_SEED
from trafficgen.explore.offers import Offer, catalogue_offers, opened_offer
from trafficgen.explore.serving import LocalPage, listen
from trafficgen.models import Model, PublishedModel


def explore(
    model: Model | PublishedModel | str | Path | None = None,
    *,
    port: int | None = None,
    seed: int = 0,
    flow: int | None = None,
    session: int | None = None,
    open_browser: bool = False,
) -> LocalPage:
    """Serve a page on this machine on which models are played over paths: choose, move sliders, see
    what reacts.

    Every curve is a simulation as :func:`~trafficgen.simulate` makes it. The page is bound to
    127.0.0.1, fetches nothing from anywhere, and is served in the background until it is stopped or
    Python ends.

    Args:
        model: What is chosen first: a model, a catalogue name, a model file, or a capture, to which
            a model is fitted and whose measured rate is then shown beside the simulated one; None:
            ``chunked``.
        port: Port; 0: any free one; None: 8765, or a free one where that is taken.
        seed: Seed of the fit, and of the simulations until it is changed on the page.
        flow: Flow of a capture that is fitted alone.
        session: Session of a capture; None for the heaviest.
        open_browser: Whether the page is opened in the browser of the desktop.

    Returns:
        The page: its ``url``, and ``stop()``; it can stand in a ``with`` block.

    Raises:
        InputFileError: If a model file or a capture cannot be read.
        SelectionError: If the capture has no such flow or session.
        CalibrationError: If the capture does not have what a fit needs.
        ExploreError: If the port cannot be had, or the seed is too large.

    Example:
        >>> import trafficgen, urllib.request
        >>> with trafficgen.explore("wmedia9_nichols2004", port=0) as page:  # 0: any free port
        ...     print(page.url)
        ...     answer = urllib.request.urlopen(page.url).status
        http://127.0.0.1:.../
        >>> answer
        200
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise ExploreError(f"seed {seed} is none of the page's; give one from 0 to {LARGEST_SEED}")
    listening = listen(
        port
    )  # before a fit of minutes, so that a port that is taken is told at once
    try:
        offers, opened = _offers(model, flow=flow, session=session, seed=seed)
        app = application(offers, port=listening.getsockname()[1], opened=opened, seed=seed)
    except BaseException:
        listening.close()
        raise
    page = LocalPage(listening, app)
    if open_browser:
        webbrowser.open(page.url)
    return page


def _offers(
    model: Model | PublishedModel | str | Path | None,
    *,
    flow: int | None,
    session: int | None,
    seed: int,
) -> tuple[dict[str, Offer], str | None]:
    """Return what can be chosen by name, and the name of what the page is opened with."""
    offers = {offer.name: offer for offer in catalogue_offers()}
    if model is None:
        return offers, None
    opened = opened_offer(model, flow=flow, session=session, seed=seed)
    if opened.name in offers and opened.model == offers[opened.name].model:
        return offers, opened.name
    name = f"./{opened.name}" if opened.name in offers else opened.name
    return {name: opened, **offers}, name
