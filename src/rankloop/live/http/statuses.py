"""Which HTTP status goes with which error. The service knows codes and sentences only; HTTP's numbers are here."""

from rankloop.errors import RankloopError
from rankloop.live.errors import RequestError, StateError, StoreError

CODES = {
    400: ("malformed_body", "malformed_request", "impression_invalid"),
    401: ("key_missing", "key_unknown"),
    403: ("scope_missing", "host_refused", "origin_refused", "sign_in", "other_origin", "token_wrong"),
    404: (
        "no_such_address", "no_such_model", "no_such_snapshot", "no_such_challenger", "no_such_action", "no_such_chart",
        "no_such_document",
    ),
    405: ("method_not_allowed",),
    408: ("body_too_slow", "head_too_slow"),
    409: ("name_taken", "too_many_models", "nothing_to_freeze", "not_exportable", "state_damaged",
        "experiment_running", "no_experiment", "in_shadow", "too_many_challengers", "not_ready"),
    410: ("impression_expired", "model_deleted", "page_gone"),
    413: ("body_too_large",),
    415: ("unsupported_media_type",),
    422: ("invalid_request", "invalid_model", "invalid_rules", "scores_overflow"),
    429: ("rate_limited",),
    431: ("head_too_large",),
    500: ("internal",),
    503: ("busy", "store_unavailable", "learner_behind", "learner_stopped"),
}  # fmt: skip
STATUSES = {code: status for status, codes in CODES.items() for code in codes}


def code_of(error: Exception) -> str:
    """The code of any error: what is not one of ours is a fault of ours."""
    match error:
        case RequestError():
            return error.code if error.code in STATUSES else "internal"
        case StateError():
            return "state_damaged"
        case StoreError():
            return "store_unavailable"
        case RankloopError():
            return "invalid_request"
    return "internal"


def status_of(error: Exception) -> int:
    """The status of an answer that is an error."""
    return STATUSES[code_of(error)]
