// What the steps of a run read and change, with the posterior chosen.
#pragma once

#include "posterior.h"

namespace psips {

template <class P>
struct RunState : Search<P> {
    const Options& options;
    const Calibration& calibration;
    Learner& learner;
    BaselineState& baseline;
    Account& account;
    Outcome& outcome;
    Key key;
    Room& room;
    Latest& latest;
    Vec<double> result;  // (d,) the one just pulled
    bool informed = false;  // whether results sufficed to judge when that was last looked at

    RunState(Run& run, const P& p)
        : Search<P>(*run.search, p), options(*run.options), calibration(*run.options->calibration), learner(*run.learner),
          baseline(*run.baseline), account(*run.account), outcome(*run.outcome), key(*run.key), room(*run.room),
          latest(*run.latest), result(run.result) {}

    Index results() const { return this->belief.tally->results; }
    Stream& stream() const { return *this->draw.stream; }
    // With known noise results that suffice go on to suffice.
    bool stays_informed() const { return informed && this->belief.noise_estimate->freedom.size() == 0; }
    bool tracks() const { return options.tracking == Tracking::track; }
};

template <class Use>
decltype(auto) with_run(Run& run, const Use& use) {
    return with_posterior(*run.search->posterior, [&](const auto& p) {
        RunState state(run, p);
        return use(state);
    });
}

}  // namespace psips
