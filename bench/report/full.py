"""What bench/records/results-full.md has beside the verdicts: which claims were run, and where they differ from the quick runs."""

import papers
import records
import texts
import verdicts

CONTINUE = "make report REPORT=--full"
PAGE = "full.md"


def summary(tested, differing):
    """Sentences: how much was run, and how much of it differs from the quick runs."""
    run = [(claim["name"], record) for claim, record, _ in tested if record]
    fewer = [f"{name} ({' of '.join(map(str, records.seeds_of(record)))})" for name, record in run if records.has_fewer_seeds(record)]
    cut = [claim["name"] for claim, record, error in tested if not record and error]
    missing = [claim["name"] for claim, record, error in tested if not record and not error]
    lines = [f"Run at full size: {len(run)} of {len(tested)} claims."]
    if fewer:
        lines.append(f"Fewer seeds than stated, because of the time limit: {', '.join(fewer)}.")
    stale = [name for name, record in run if record.stale]
    if stale:
        lines.append(f"Stale, because the claim or the library has changed since the run: {', '.join(stale)}. `{CONTINUE}` runs "
                     "them again.")
    if cut:
        lines.append(f"Not judged, because the run failed or its first seed takes longer than the limit: {', '.join(cut)}.")
    if missing:
        lines.append(f"Not run at full size: {', '.join(missing)}. `{CONTINUE}` runs them.")
    lines.append(f"Verdicts that differ from those of the quick runs, of the claims that were run: {len(differing)}.")
    return lines


def state(record, error):
    if record:
        seeds = "fewer seeds than stated" if records.has_fewer_seeds(record) else "complete"
        return f"stale, {seeds}" if record.stale else seeds
    return error or "not run at full size"


def run_row(claim, record, error):
    cells = [f"[{claim['name']}]({PAGE}#{claim['name']})", "times" if claim["timed"] else "counts", state(record, error)]
    if not record:
        return cells + [""] * 5
    busy = float(record.about.get("other_load", 0))
    done, wanted = records.seeds_of(record)
    return cells + [f"{done} of {wanted}", f"{float(record.about.get('cpu_seconds', record.about['seconds'])) / 60:.1f}",
                    f"{busy:.1f} cores" if claim["timed"] and busy > verdicts.BUSY else "", record.about["date"],
                    record.about["commit"]]


def runs(tested):
    """(columns, rows): one row per claim, with the commit at which it was measured."""
    return (["claim", "about", "run", "seeds", "CPU minutes", "load by other programs", "date", "commit"],
            [run_row(*result) for result in tested])


# ------------------------------------------------------------------ against the quick runs

def by_name(found):
    return {each.sentence.name: each for list_ in found.values() for each in list_ if each.verdict != verdicts.NOT_TESTED}


def differences(tested, found, quick_tested, quick_found):
    """Rows of the verdicts that differ: on sentences of papers, then on claims of our own. Claims run at one size only are left out."""
    quick, full = by_name(quick_found), by_name(found)
    rows = [[f"[{each.sentence.claim}]({PAGE}#{each.sentence.claim})", f"“{texts.plain_quote(each.sentence.quote)}”: {each.sentence.says}",
             texts.paper_factor(each.sentence), texts.our_factor(quick[name]), quick[name].verdict, texts.our_factor(each),
             each.verdict] for name, each in full.items() if name in quick and quick[name].verdict != each.verdict]
    own = {claim["name"]: record for claim, record, _ in quick_tested if claim["source"] == papers.OWN and record}
    for claim, record, _ in tested:
        before = own.get(claim["name"])
        if record and before and papers.own_verdict(record) != papers.own_verdict(before):
            rows.append([f"[{claim['name']}]({PAGE}#{claim['name']})", claim["statement"], "", papers.parts(before),
                         papers.own_verdict(before), papers.parts(record), papers.own_verdict(record)])
    return rows


DIFFERENCE_COLUMNS = ["claim", "sentence", "paper", "quick", "verdict", "full", "verdict at full size"]
