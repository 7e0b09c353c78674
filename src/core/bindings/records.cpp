// The layout of records, for the test that compares it with that of `psips.state.records`.
#include <cstddef>

#include "bindings.h"
#include "cover.h"
#include "near_ties/tie_rates.h"

namespace psips {

namespace {

using Layout = std::initializer_list<std::pair<const char*, std::size_t>>;

void add(nb::dict& all, const char* name, std::size_t size, Layout fields) {
    nb::dict places;
    for (const auto& [field, offset] : fields) places[field] = offset / 8;
    all[name] = nb::make_tuple(size / 8, places);
}

}  // namespace

// NOLINTBEGIN
#define AT(S, member) {#member, offsetof(S, member)}

static nb::dict layout() {
    nb::dict all;
    add(all, "NoiseModel", sizeof(NoiseModel),
        {AT(NoiseModel, mode), AT(NoiseModel, partial), AT(NoiseModel, given), AT(NoiseModel, guess), AT(NoiseModel, worth),
         AT(NoiseModel, binary), AT(NoiseModel, low), AT(NoiseModel, high), AT(NoiseModel, least)});
    add(all, "LimitModel", sizeof(LimitModel),
        {AT(LimitModel, metric), AT(LimitModel, sign), AT(LimitModel, factor), AT(LimitModel, bound), AT(LimitModel, control),
         AT(LimitModel, aims), AT(LimitModel, kept)});
    add(all, "Model", sizeof(Model),
        {AT(Model, unstructured), AT(Model, diagonal), AT(Model, K), AT(Model, n), AT(Model, h), AT(Model, d), AT(Model, A),
         AT(Model, Z), AT(Model, Sigma), AT(Model, L), AT(Model, P), AT(Model, xi), AT(Model, kind), AT(Model, ball),
         AT(Model, low), AT(Model, high), AT(Model, explore), AT(Model, costs), AT(Model, thrift), AT(Model, frame),
         {"first", offsetof(Model, spanning)}, AT(Model, noise), AT(Model, unit), AT(Model, slack), AT(Model, relative),
         AT(Model, control), AT(Model, level), AT(Model, facts), AT(Model, give), AT(Model, even), AT(Model, limits),
         AT(Model, joint)});
    add(all, "NoiseEstimate", sizeof(NoiseEstimate),
        {AT(NoiseEstimate, origin), AT(NoiseEstimate, count), AT(NoiseEstimate, sums), AT(NoiseEstimate, cross), AT(NoiseEstimate, higher), AT(NoiseEstimate, seen),
         AT(NoiseEstimate, seen_sums), AT(NoiseEstimate, C), AT(NoiseEstimate, freedom), AT(NoiseEstimate, level), AT(NoiseEstimate, prior),
         AT(NoiseEstimate, fitted)});
    add(all, "Belief", sizeof(Belief),
        {AT(Belief, pulls), AT(Belief, N), AT(Belief, B), AT(Belief, theta), AT(Belief, V), AT(Belief, F), AT(Belief, tally),
         AT(Belief, sums), AT(Belief, noise_estimate), AT(Belief, G), AT(Belief, X)});
    add(all, "Posterior", sizeof(Posterior),
        {AT(Posterior, separate), AT(Posterior, diagonal), AT(Posterior, mu), AT(Posterior, C), AT(Posterior, R),
         AT(Posterior, known), AT(Posterior, W), AT(Posterior, N), AT(Posterior, theta), AT(Posterior, F), AT(Posterior, A),
         AT(Posterior, Z), AT(Posterior, Sigma), AT(Posterior, L), AT(Posterior, P), AT(Posterior, unit), AT(Posterior, slack),
         AT(Posterior, tolerant), AT(Posterior, relative), AT(Posterior, control), AT(Posterior, own), AT(Posterior, pooled),
         AT(Posterior, room), AT(Posterior, G), AT(Posterior, X), AT(Posterior, H), AT(Posterior, facts), AT(Posterior, give)});
    add(all, "Front", sizeof(Front),
        {AT(Front, inside), AT(Front, members), AT(Front, outside), AT(Front, dominator), AT(Front, size)});
    add(all, "Cover", sizeof(Cover),
        {AT(Cover, shape), AT(Cover, terms), AT(Cover, y), AT(Cover, gap), AT(Cover, L), AT(Cover, b), AT(Cover, r),
         AT(Cover, mass), AT(Cover, scale), AT(Cover, theta), AT(Cover, R), AT(Cover, V), AT(Cover, life), AT(Cover, reach)});
    add(all, "Draw", sizeof(Draw),
        {AT(Draw, stream), AT(Draw, theta), AT(Draw, values), AT(Draw, drawn), AT(Draw, made), AT(Draw, piece), AT(Draw, p),
         AT(Draw, choice), AT(Draw, forms), AT(Draw, shift), AT(Draw, at_z),
         AT(Draw, at_x), AT(Draw, row), AT(Draw, nearest), AT(Draw, nearest_xs), AT(Draw, nearest_cs)});
    add(all, "TieRates", sizeof(TieRates), {AT(TieRates, names), AT(TieRates, rates), AT(TieRates, stream)});
    add(all, "SearchState", sizeof(SearchState),
        {AT(SearchState, model), AT(SearchState, belief), AT(SearchState, posterior), AT(SearchState, front), AT(SearchState, cover), AT(SearchState, draw),
         AT(SearchState, ties)});
    add(all, "Calibration", sizeof(Calibration),
        {AT(Calibration, code), AT(Calibration, log_inverse), AT(Calibration, kappa), AT(Calibration, log_q),
         AT(Calibration, extent), AT(Calibration, bias), AT(Calibration, log_rate), AT(Calibration, low),
         AT(Calibration, high)});
    add(all, "Options", sizeof(Options),
        {AT(Options, learner), AT(Options, tracking), AT(Options, eta), AT(Options, halves), AT(Options, alpha),
         AT(Options, calibration), AT(Options, target), AT(Options, goal)});
    add(all, "Learner", sizeof(Learner),
        {AT(Learner, gains), AT(Learner, gap), AT(Learner, played), AT(Learner, pending), AT(Learner, estimate),
         AT(Learner, point), AT(Learner, tally)});
    add(all, "Design", sizeof(Design), {AT(Design, posterior), AT(Design, V)});
    add(all, "BaselineState", sizeof(BaselineState), {AT(BaselineState, standing), AT(BaselineState, rounds), AT(BaselineState, logs), AT(BaselineState, design)});
    add(all, "Account", sizeof(Account),
        {AT(Account, level), AT(Account, due), AT(Account, inside), AT(Account, N1), AT(Account, B1), AT(Account, V1),
         AT(Account, C1), AT(Account, z), AT(Account, length), AT(Account, xs), AT(Account, first), AT(Account, involved),
         AT(Account, arms), AT(Account, G), AT(Account, s), AT(Account, q), AT(Account, log_weight), AT(Account, offset),
         AT(Account, lead), AT(Account, settled), AT(Account, left), AT(Account, size), AT(Account, n), AT(Account, mean),
         AT(Account, W), AT(Account, value), AT(Account, best), AT(Account, work), AT(Account, touched), AT(Account, order),
         AT(Account, owner), AT(Account, hint)});
    add(all, "Run", sizeof(Run),
        {AT(Run, search), AT(Run, options), AT(Run, learner), AT(Run, baseline), AT(Run, account), AT(Run, outcome), AT(Run, key),
         AT(Run, room), AT(Run, latest), AT(Run, result)});
    add(all, "Source", sizeof(Source),
        {AT(Source, kind), AT(Source, means), AT(Source, L), AT(Source, low), AT(Source, high), AT(Source, rows),
         AT(Source, starts)});
    return all;
}

#undef AT
// NOLINTEND

void bind_records(nb::module_& m) {
    m.def("layout", &layout, "Words of each record and the place of each field, by name, as the core reads them.");
    m.attr("COVER_DEPTH") = DEPTH;
    m.attr("RATE_LEVELS") = LEVELS_KEPT;
}

}  // namespace psips
