"""The cases on which cores are compared: everything the library allows, in short runs.

The seed of a case follows from its name, so that cases can be added without changing others.
"""

from __future__ import annotations

from cores import beyond, instances, noise, questions, rules, sessions
from cores.registry import CASES as CASES

for build in (
    rules.build_rules,
    instances.build_plain,
    instances.build_features,
    noise.build_noise,
    noise.build_exact,
    noise.build_items,
    questions.build_question,
    sessions.build_sessions,
    sessions.build_studies,
    beyond.build_theory,
    beyond.build_plans,
    instances.build_edges,
):
    build()
