#include "weir/observe/metrics.hpp"

#include <algorithm>
#include <utility>

namespace weir::observe {
namespace {

constexpr std::string_view other_site = "other";

void put(Histogram& histogram, std::array<std::uint64_t, Histogram::bucket_count> const& bounds, std::uint64_t n) noexcept {
  auto const bucket = std::lower_bound(bounds.begin(), bounds.end(), n) - bounds.begin();
  histogram.buckets[static_cast<std::size_t>(bucket)].add();
  histogram.sum_nanoseconds.add(n);
}

}  // namespace

void Histogram::observe(base::Duration d) noexcept {
  put(*this, nanosecond_bounds, static_cast<std::uint64_t>(std::max<base::Duration::rep>(d.count(), 0)));
}

void Histogram::observe_number(std::uint64_t n) noexcept { put(*this, number_bounds, n); }

WorkerMetrics::WorkerMetrics(std::size_t sites) : requests((sites + max_added_sites) * outcome_count) {}

Metrics::Metrics(std::size_t workers, std::vector<std::string> site_names)
    : sites_(std::move(site_names)), gauges_(std::make_shared<Gauges const>()) {
  workers_.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<WorkerMetrics>(sites_.size()));
}

void Metrics::set_gauges(Gauges gauges) {
  auto next = std::make_shared<Gauges const>(std::move(gauges));
  std::lock_guard const lock(gauges_mutex_);
  gauges_.swap(next);
}

std::vector<std::size_t> Metrics::rows_of(std::vector<std::string> const& site_names) {
  std::vector<std::size_t> rows;
  auto const capacity = workers_.front()->requests.size() / outcome_count;
  std::lock_guard const lock(gauges_mutex_);
  for (auto const& name : site_names) {
    auto at = std::find(sites_.begin(), sites_.end(), name);
    if (at == sites_.end() && sites_.size() < capacity)
      at = sites_.insert(sites_.end(), sites_.size() + 1 < capacity ? name : std::string(other_site));
    rows.push_back(at == sites_.end() ? capacity - 1 : static_cast<std::size_t>(at - sites_.begin()));
  }
  return rows;
}

std::vector<std::string> Metrics::sites() const {
  std::lock_guard const lock(gauges_mutex_);
  return sites_;
}

std::uint64_t Metrics::total(Outcome outcome) const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) {
    for (std::size_t i = static_cast<std::size_t>(outcome); i < worker->requests.size(); i += outcome_count)
      sum += worker->requests[i].value();
  }
  return sum;
}

std::uint64_t Metrics::total_coalesced() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) sum += worker->coalesced.value();
  return sum;
}

std::uint64_t Metrics::total_fetches() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) {
    for (std::size_t i = 0; i < worker->fetches.size(); ++i)
      if (is_sent(static_cast<FetchResult>(i % fetch_result_count))) sum += worker->fetches[i].value();
  }
  return sum;
}

std::uint64_t Metrics::total_refusals(wire::Refusal refusal) const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) sum += worker->refusals[static_cast<std::size_t>(refusal)].value();
  return sum;
}

std::uint64_t Metrics::total_not_stored(cache::NotStored reason) const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) sum += worker->not_stored[static_cast<std::size_t>(reason)].value();
  return sum;
}

std::uint64_t Metrics::total_cacheable() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) sum += worker->cacheable.value();
  return sum;
}

std::uint64_t Metrics::total_with_credential_cookie() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& worker : workers_) sum += worker->with_credential_cookie.value();
  return sum;
}

}  // namespace weir::observe
