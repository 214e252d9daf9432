"""What uses matplotlib and tqdm, if they are installed."""

import contextlib


@contextlib.contextmanager
def progress_bar():
    """Gives a progress callback that moves a bar of tqdm; None without tqdm."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(unit=" keys", unit_scale=True) as bar:

        def tick(done, total):
            if total and bar.total != total:
                bar.total = total
            bar.update(done - bar.n)

        yield tick


def _shares(filter):
    """The names and the shares, 0 to 1, that the plot shows."""
    stats = filter.stats()
    shares = {"keys, of the capacity": stats.keys / max(1, stats.capacity)}
    if "report" in filter.abilities:
        shares["reports, of the reserve"] = stats.reserve_used
    if stats.fpr_at_capacity > 0:
        shares["fpr, of that when full"] = stats.expected_fpr / stats.fpr_at_capacity
    return shares


def plot(filter, ax=None):
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Filter.plot() needs matplotlib (Debian: python3-matplotlib)") from error
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6, 1.8), layout="constrained")
    shares = _shares(filter)
    bars = ax.barh(list(shares), list(shares.values()), color="tab:blue")
    ax.bar_label(bars, [f"{100 * share:.0f} %" for share in shares.values()], padding=3)
    ax.set_xlim(0, max(1.15, 1.1 * max(shares.values())))
    ax.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    ax.invert_yaxis()
    ax.set_title(repr(filter).strip("<>"), fontsize="small")
    return ax
