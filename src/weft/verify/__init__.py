"""Answers recomputed from exactly the committed input, by plain SQL, and compared.

The recomputation knows nothing of slices, partials or batches: it is the meaning of the query, over all rows.
"""

from weft.verify.verification import Verification
from weft.verify.verify import verify

__all__ = ["Verification", "verify"]
