"""Prints what DuckDB and pandas read of a file of proton query --parquet, whose path is on standard input as JSON."""

import json
import sys

import duckdb
import pandas

file = json.load(sys.stdin)
columns = ["time_ns", "launches", "instruction_samples", "bytes", "flops"]
sums = ", ".join(f"cast(sum({c}) as varchar)" for c in columns)


def fields(query):
    return [list(map(str, row)) for row in duckdb.sql(query).fetchall()]


frame = pandas.read_parquet(file)
print(json.dumps({
    "duckdb": dict(zip(columns, fields(f"select {sums} from '{file}'")[0])),
    "pandas": {c: str(int(frame[c].sum())) for c in columns},
    "types": {name: kind for name, kind, *_ in fields(f"describe select * from '{file}'")},
    "dtypes": {c: str(frame[c].dtype) for c in columns},
    "paths": fields(f"select count(*) from '{file}' where path[-1] is distinct from frame")[0][0],
    "rows": [len(frame), int(fields(f"select count(*) from '{file}'")[0][0])],
}))
