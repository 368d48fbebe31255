// The hit path's decisions allocate nothing on ordinary input. Replaces this program's operator new to count.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/cache/vary.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// Not inlined: g++ would take the malloc and the delete for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
// A sanitizer brings its own of this one, whose blocks are not for our delete.
[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace weir::cache::test {
namespace {

TEST(HitPath, DecidesWithoutAllocating) {  // KEY-1, KEY-5, KEY-6, FWD-3, SRV-1, SRV-5
  WireRequest const wire(
      "GET /some/page/of/ordinary/length?with=a&query=b\nHost: Shop.Example:80\nAccept-Encoding: gzip, deflate, br\n"
      "Cookie: _ga=GA1.2.3456789012.3456789012; lang=de\nX-Tenant: a tenant, another tenant\nIf-None-Match: \"abc\"\n"
      "Cache-Control: max-age=0");
  KeyRules rules;
  rules.headers = {"x-tenant"};
  rules.cookies = {"lang"};
  rules.query_drop = {};
  CookieRules const cookies{.ignore = analytics_cookies()};
  SelectorBytes selector;
  append_selector(wire.fields(), {"accept-encoding", "x-tenant", "x-absent"}, rules, selector);
  Facts facts;
  facts.lifetime = 60s;
  Representation const representation{.etag = "\"abc\"", .last_modified = {}, .date = noon.wall, .size = 10};

  auto const before = allocations.load();
  std::string storage;
  KeyBytes key;
  append_primary_key(wire.request, rewrite_target(wire.request, rules, storage), rules, nullptr, key);
  bool const selected = selects(wire.fields(), view(selector), rules);
  auto const asker = asker_of(wire.request, classify_cookies(wire.fields(), rules, cookies).has_credential, {});
  auto const verdict = reuse(asker, facts, {}, noon, Mode::normal).verdict;
  auto const cut = has_conditionals(wire.fields()) ? select(wire.request, representation, noon.wall).cut : Cut::whole;
  auto const count = allocations.load() - before;

  EXPECT_EQ(count, 0U);
  EXPECT_TRUE(selected);
  EXPECT_EQ(verdict, Verdict::must_validate);
  EXPECT_EQ(cut, Cut::not_modified);
}

}  // namespace
}  // namespace weir::cache::test
