#include "weir/proxy/explain.hpp"

#include <algorithm>

#include "weir/http/target.hpp"
#include "weir/proxy/client_address.hpp"
#include "weir/proxy/exchange.hpp"
#include "weir/wire/head.hpp"

namespace weir::proxy {
namespace {

// The request as a client would send it, so that it is read, and refused, as a client's would be.
std::string head_of(Question const& question, http::Target const& target) {
  std::string head = question.method + ' ';
  head.append(target.path);
  if (target.has_query) head.append("?").append(target.query);
  head += " HTTP/1.1\r\n";
  bool names_host = false;
  for (auto const& [name, value] : question.fields) names_host |= http::equal_ignoring_case(name, "host");
  if (!names_host && !target.authority.empty()) head.append("Host: ").append(target.authority).append("\r\n");
  for (auto const& [name, value] : question.fields) head.append(name).append(": ").append(value).append("\r\n");
  return head + "\r\n";
}

// In any method: reads with a keyed body are stored too.
bool same_url(std::string_view a, std::string_view b) noexcept {
  auto const one = cache::url_of(a), other = cache::url_of(b);
  return one.path == other.path && one.query == other.query && one.has_query == other.has_query &&
         one.authority == other.authority && one.scheme == other.scheme;
}

Explanation refused(http::Target const& target, wire::Refusal refusal) {
  Explanation told;
  told.url = target.path;
  told.status = wire::status_of(refusal);
  told.refused_for = wire::label(refusal);
  return told;
}

}  // namespace

struct Explainer::Impl {
  explicit Impl(Shared& s) : metrics(s.metrics.sites().size()), local(s, io, 0, metrics) {}

  // While it lives, questions are answered by one setup. Then that may go: what checks its servers' health ends with it.
  struct Using {
    Using(Impl& i, std::shared_ptr<Setup const> setup) : impl(i) { impl.use(std::move(setup)); }
    Using(Using const&) = delete;
    Using& operator=(Using const&) = delete;
    ~Using() {
      impl.local.settings.reset();
      impl.local.snapshot.reset();
    }
    Impl& impl;
  };

  void use(std::shared_ptr<Setup const> setup);
  // An exchange that has begun with the question's request; what it may use lives here until the next.
  std::unique_ptr<Exchange> begin(Question const& question, wire::Refusal& refusal);

  asio::io_context io;             // never run: nothing is waited for
  observe::WorkerMetrics metrics;  // thrown away
  Local local;
  std::string head;
  wire::HeadRoom room;
  std::unique_ptr<Client> client;
};

// Without pools: nothing is fetched.
void Explainer::Impl::use(std::shared_ptr<Setup const> setup) {
  auto snapshot = std::make_shared<Snapshot>();
  for (auto const& site : setup->settings.sites) snapshot->of_site.push_back({setup->origins.at(site.origin), nullptr});
  snapshot->setup = std::move(setup);
  local.settings = {snapshot, &snapshot->setup->settings};
  local.snapshot = std::move(snapshot);
}

std::unique_ptr<Exchange> Explainer::Impl::begin(Question const& question, wire::Refusal& refusal) {
  auto const target = http::parse_target(question.url);
  refusal = wire::Refusal::target;
  if (!target || target->form == http::TargetForm::authority) return nullptr;
  head = head_of(question, *target);
  auto const& limits = local.settings->limits;
  wire::HeadLimits const head_limits{limits.header_bytes, limits.header_count, limits.target_bytes, limits.body_bytes};
  std::size_t scanned = 0;
  auto const scheme = target->scheme.empty() || http::equal_ignoring_case(target->scheme, "http") ? "http" : "https";
  auto const read = wire::read_request_head(head, scheme, head_limits, room, scanned);
  refusal = read.step == wire::HeadStep::need_more ? wire::Refusal::malformed : read.refusal;
  if (read.step != wire::HeadStep::ready) return nullptr;
  client = std::make_unique<Client>(nullptr, local.inboxes);
  client->address = question.client;
  client->trusted = in_networks(question.client, local.settings->trusted_proxies);
  auto exchange = std::make_unique<Exchange>(local);
  exchange->begin(*client, read.request, base::read_clock());
  return exchange;
}

Explainer::Explainer(Shared& shared) : impl_(std::make_unique<Impl>(shared)) {}

Explainer::~Explainer() = default;

Explanation Explainer::explain(Question const& question, std::shared_ptr<Setup const> setup) {
  Impl::Using const in_use(*impl_, std::move(setup));
  wire::Refusal refusal = wire::Refusal::none;
  auto const exchange = impl_->begin(question, refusal);
  if (exchange == nullptr) return refused(http::parse_target(question.url).value_or(http::Target{}), refusal);
  return exchange->explain();
}

std::vector<Explainer::Held> Explainer::entries(Question const& question, bool all_keys,
                                                std::shared_ptr<Setup const> setup) {
  Impl::Using const in_use(*impl_, std::move(setup));
  std::vector<Held> held;
  wire::Refusal refusal = wire::Refusal::none;
  auto const exchange = impl_->begin(question, refusal);
  if (exchange == nullptr) return held;
  auto const told = exchange->explain();
  if (told.key.empty()) return held;
  held.push_back({told.key, told.stored});
  if (!all_keys || !exchange->keys_more_than_url()) return held;
  auto& store = impl_->local.shared.store;
  std::vector<std::string> others;
  store.visit([&](cache::StoredResponse const& entry) {
    if (same_url(entry.key(), told.key) && std::ranges::find(others, entry.key()) == others.end())
      others.emplace_back(entry.key());
  });
  for (auto& key : others) {
    if (key == told.key) continue;
    auto variants = exchange->held(key);
    held.push_back({std::move(key), std::move(variants)});
  }
  return held;
}

}  // namespace weir::proxy
