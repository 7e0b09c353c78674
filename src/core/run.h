// The loop of a run: choose an arm, pull it, learn, bring the candidate set up to date, judge.
#pragma once

#include "budget.h"
#include "source.h"
#include "steps.h"

namespace psips {

enum class Mode : Index { tell, ask, run };  // judge the data as they stand; return the next arm; do both in turn

struct Rules {  // places in the tables of steps.h
    Index choose, renew, judge;
};

// A run pulls from `source` until the rule stops, `results` results are in, or nothing is left that the budget
// has room for: NO_ROOM is returned then.
template <class P>
Index drive(RunState<P>& run, const Rules& rules, const Source* source, Key noise, Mode mode, Index results) {
    const auto choose = SAMPLING<P>[rules.choose].take;
    const auto renew = RENEWING<P>[rules.renew].take;
    const auto judge = STOPPING<P>[rules.judge].take;
    const Vec<double> x = run.result;
    Index arm = NO_ARM;
    bool refreshed = false;  // whether the posterior has taken in all results but the one just pulled
    while (true) {
        if (mode == Mode::run && (run.results() >= results || run.outcome.stopped == 1.0)) return arm;
        if (mode != Mode::tell) {
            arm = choose(run);
            if (arm == NO_ARM) return arm;
            if (run.room.left < INF) arm = within_budget(run, arm);
            if (mode == Mode::ask || arm == NO_ROOM) return arm;
            pull(*source, noise, arm, static_cast<Index>(run.belief.pulls[arm]), x);
            run.learner.pending[arm] -= 1.0;
            learn(run.model, run.belief, arm, x);
            run.pulled = refreshed ? arm : -1;
        }
        if (is_informed(run)) {
            renew(run);
            refreshed = true;
            if (judge(run) == PREDICT) return PREDICT;
        }
        if (mode == Mode::tell) return arm;
    }
}

}  // namespace psips
