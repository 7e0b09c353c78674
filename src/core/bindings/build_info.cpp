// How this module was built, for people and for tests.
#include "bindings.h"

#include <nanobind/stl/string.h>

#include <string>
#include <vector>

namespace psips {
namespace {

#define PSIPS_TEXT_OF(number) #number
#define PSIPS_TEXT(number) PSIPS_TEXT_OF(number)
#if defined(__clang__)
constexpr const char* compiler = "clang " PSIPS_TEXT(__clang_major__) "." PSIPS_TEXT(
    __clang_minor__) "." PSIPS_TEXT(__clang_patchlevel__);
#elif defined(__GNUC__)
constexpr const char* compiler = "gcc " __VERSION__;
#elif defined(_MSC_VER)
constexpr const char* compiler = "msvc " PSIPS_TEXT(_MSC_VER);
#else
constexpr const char* compiler = "unknown";
#endif

#ifdef PSIPS_UNCHECKED
constexpr bool checked = false;
#else
constexpr bool checked = true;
#endif

#ifdef PSIPS_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

nanobind::dict build_info() {
    nanobind::dict info;
    info["compiler"] = std::string(compiler);
    info["checked"] = checked;
    info["sanitized"] = sanitized;
    return info;
}

#ifdef PSIPS_SANITIZED
// Shows that the sanitizers are at work: it ends the process.
int read_behind_the_end() {
    std::vector<int> values(3, 1);
    const volatile int* const behind = values.data() + 3;
    return *behind;
}
#endif

}  // namespace

void bind_build_info(nanobind::module_& core) {
    core.def("build_info", &build_info,
             nanobind::sig("def build_info() -> dict[str, str | bool]"),
             "How this module was built: the compiler, whether every index is checked, whether "
             "sanitizers watch it.");
#ifdef PSIPS_SANITIZED
    core.def("read_behind_the_end", &read_behind_the_end);
#endif
}

}  // namespace psips
