import json

from tests.report.synthetic import write_run


def test_reports_are_written_and_named(winnow, tmp_path):
    run = write_run(tmp_path / "a", steps=3)
    told = winnow("report", run)
    assert told.out == f"{run / 'report.html'}\n" and (run / "report.html").is_file()
    assert json.loads(winnow("report", run, "--json").out)["reports"][0]["report"] == str(run / "report.html")


def test_a_folder_that_is_no_run_is_bad_input(winnow, tmp_path):
    told = winnow("report", tmp_path)
    assert told.code == 2 and "metrics.jsonl" in told.err
