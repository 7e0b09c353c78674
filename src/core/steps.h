// The steps of every rule, by the names that rules declare in Python (psips/rules). A new rule is a header
// and a line here.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "baselines/ape.h"
#include "baselines/elimination.h"
#include "baselines/gap_elimination.h"
#include "baselines/top_two.h"
#include "baselines/track_and_stop.h"
#include "cover_refresh.h"
#include "sampling/certified.h"
#include "sampling/directed.h"
#include "sampling/goal.h"
#include "sampling/hedged.h"
#include "sampling/limited.h"
#include "sampling/predicted.h"
#include "sampling/published.h"
#include "sampling/reference.h"
#include "stopping/bayes.h"
#include "stopping/certified.h"
#include "stopping/glr.h"
#include "stopping/limited.h"
#include "stopping/posterior.h"
#include "stopping/predicted.h"

namespace psips {

// Bringing the candidate set up to date, and its cover if there is one.
template <class P>
void renew_set(RunState<P>& run) {
    refresh_candidate_set(run);
}

template <class P>
void renew_cover(RunState<P>& run) {
    begin_round(run.cover);
    if (is_eager(run.cover))
        refresh_candidate_set(run);
    else if (!refresh_cover(run))
        build_cover(run, run.cover.reach->spare);
}

template <class P, class Result>
struct Step {
    std::string_view name;
    Result (*take)(RunState<P>&);
};

template <class P>
inline constexpr Step<P, Index> SAMPLING[] = {
    {"directed", choose_directed},       {"projected", choose_projected}, {"posterior", choose_posterior},
    {"published", choose_published},     {"uniform", choose_uniform},     {"round_robin", choose_round_robin},
    {"oracle", choose_oracle},           {"explore", choose_exploring},   {"opening", choose_opening},
      {"limited", choose_limited},
    {"two_stage", choose_two_stage},     {"predicted", choose_predicted}, {"certified", choose_certified},
    {"goal", choose_for_goal},           {"ape", choose_ape},             {"elimination", choose_elimination},
    {"top_two", choose_top_two},         {"ege_sr", choose_ege_sr},       {"ege_sh", choose_ege_sh},
    {"track_and_stop", choose_track_and_stop},
};

template <class P>
inline constexpr Step<P, void> RENEWING[] = {
    {"set", renew_set},
    {"cover", renew_cover},
    {"limited", renew_limited},
};

template <class P>
inline constexpr Step<P, Index> STOPPING[] = {
    {"never", judge_never},
    {"posterior", judge_posterior},
    {"published", judge_published},
    {"never_published", judge_never_published},
    {"predicted", judge_predicted},
    {"bayes", judge_bayes},
    {"ape", judge_ape},
    {"elimination", judge_elimination},
    {"ege_sr", judge_ege_sr},
    {"ege_sh", judge_ege_sh},
    {"certified", judge_certified},
    {"glr", judge_glr},
    {"limited", judge_limited},
    {"two_stage", judge_two_stage},
};

template <class Table>
Index place_of(const Table& table, std::string_view name) {
    for (Index i = 0; i < static_cast<Index>(std::size(table)); ++i)
        if (table[i].name == name) return i;
    throw std::invalid_argument("the core has no step named '" + std::string(name) + "'");
}

}  // namespace psips
