"""Policy `strict`: the dtypes of `mindspore`, and every implicit conversion but a silent scalar's is a violation."""

from __future__ import annotations

from dataclasses import replace

from tracejit.policies.mindspore import MINDSPORE

STRICT = replace(
    MINDSPORE,
    name="strict",
    source="tracejit's own: decides as `mindspore` does, so that a program that passes computes the same there. A "
    "Python scalar of the tensor's kind or a lower one adopts its dtype silently; every other conversion is reported.",
    documented=None,
    reports_casts=True,
)
