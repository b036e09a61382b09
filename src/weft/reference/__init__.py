"""The meaning of a query, written once and slowly: plain SQL over the whole history of its stream.

    reference_sql(query, stream, dialect="duckdb")     a SELECT over a table named like the stream
    relation_sql(relation, streams, dialect="duckdb")  the same of a query over several sources

It knows nothing of slices, partials or batches, and imports none of the code that does: it is there to judge
it. Dialect `duckdb` is for tests; `spark` for what DuckDB judges differently, and for verifying a program's
answers where only Spark is at hand.
"""

from weft.reference.meaning import dead_sql, late_sql, reference_sql
from weft.reference.relations import bag_sql, changed_sql, instants_sql, relation_sql

__all__ = ["bag_sql", "changed_sql", "dead_sql", "instants_sql", "late_sql", "reference_sql", "relation_sql"]
