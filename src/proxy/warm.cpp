#include "weir/proxy/warm.hpp"

#include <algorithm>
#include <exception>

#include <boost/asio/co_spawn.hpp>

#include "weir/http/target.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/exchange.hpp"
#include "weir/proxy/routing.hpp"

namespace weir::proxy {
namespace {

using http::FieldId;

// Mistakes that are told; who has more knows enough.
constexpr std::size_t most_mistakes = 20;
constexpr std::size_t most_fields = 32;
constexpr std::size_t most_url_bytes = 8192;

// What belongs to a message, a connection or a client, and not to what is asked for.
bool may_be_given(http::Field const& field) noexcept {
  switch (field.id) {
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::transfer_encoding:
    case FieldId::connection:
    case FieldId::expect:
    case FieldId::upgrade:
    case FieldId::range:
    case FieldId::if_range:
    case FieldId::if_match:
    case FieldId::if_none_match:
    case FieldId::if_modified_since:
    case FieldId::if_unmodified_since:
    case FieldId::authorization:
    case FieldId::proxy_authorization:
    case FieldId::cdn_loop:
      return false;
    default:
      return !is_hop_by_hop(field, {}) && !is_client_address(field.name);
  }
}

// The request of a URL that was found to be good.
std::string head_of(std::string const& url, std::string_view authority, WarmOrder const& order) {
  std::string head = "GET " + url + " HTTP/1.1\r\nHost: ";
  head.append(authority).append("\r\n");
  for (auto const& [name, value] : order.fields) head.append(name).append(": ").append(value).append("\r\n");
  return head.append("\r\n");
}

class Reading {
 public:
  Reading(config::Settings const& settings, WarmOrder const& order) : settings_(settings), order_(order) {}

  std::vector<std::string> mistakes() {
    if (order_.urls.empty()) mistake("it names no `urls`");
    if (order_.urls.size() > most_warm_urls) mistake("more than " + std::to_string(most_warm_urls) + " `urls`");
    if (order_.fields.size() > most_fields) mistake("more than " + std::to_string(most_fields) + " `headers`");
    for (auto const& [name, value] : order_.fields) look_at(name, value);
    for (auto const& url : order_.urls) look_at(url);
    return std::move(mistakes_);
  }

 private:
  void mistake(std::string text) {
    if (mistakes_.size() < most_mistakes) mistakes_.push_back(std::move(text));
  }
  void look_at(std::string const& name, std::string const& value) {
    if (!http::is_token(name) || !http::is_field_value(value)) return mistake("`" + name + "` is no header field");
    if (!may_be_given({http::field_id(name), name, value})) mistake("header `" + name + "` cannot be given here");
  }
  void look_at(std::string const& url) {
    auto const target = url.size() <= most_url_bytes ? http::parse_target(url) : std::nullopt;
    if (!target || target->form != http::TargetForm::absolute || !http::is_host(target->authority))
      return mistake("`" + url.substr(0, 200) + "` is no absolute URL");
    http::Request request;
    request.scheme = target->scheme;
    request.authority = target->authority;
    request.path = target->path;
    if (route(settings_, request).site == nullptr) mistake("no site serves `" + url + "`");
  }

  config::Settings const& settings_;
  WarmOrder const& order_;
  std::vector<std::string> mistakes_;
};

}  // namespace

struct Warmer::Job {
  std::uint64_t id = 0;
  WarmOrder order;
  std::atomic<std::size_t> next{0}, done{0}, skipped{0}, failed{0}, under_way{0}, lanes{0};
  mutable std::mutex mutex;  // guards `failures`
  std::vector<std::pair<std::string, std::string_view>> failures;

  bool ended() const noexcept { return lanes.load(std::memory_order_acquire) == 0; }
  void count(std::string const& url, Exchange::Warmed const& warmed);
  asio::awaitable<Exchange::Warmed> warm(Local& local, std::string const& url) const;
  void end_lane() noexcept;
};

void Warmer::Job::count(std::string const& url, Exchange::Warmed const& warmed) {
  if (warmed.what == Exchange::Warmed::done) done.fetch_add(1);
  if (warmed.what == Exchange::Warmed::skipped) skipped.fetch_add(1);
  if (warmed.what != Exchange::Warmed::failed) return;
  failed.fetch_add(1);
  std::lock_guard const lock(mutex);
  if (failures.size() < named_warm_failures) failures.emplace_back(url, warmed.why);
}

// Read as a client's request would be, so that it is keyed as one.
asio::awaitable<Exchange::Warmed> Warmer::Job::warm(Local& local, std::string const& url) const {
  auto const target = http::parse_target(url);
  auto const room = std::make_unique<wire::HeadRoom>();
  auto const bytes = head_of(url, target->authority, order);
  wire::HeadLimits limits;
  std::size_t scanned = 0;
  bool const secure = http::equal_ignoring_case(target->scheme, "https");
  auto const head = wire::read_request_head(bytes, secure ? "https" : "http", limits, *room, scanned);
  if (head.step != wire::HeadStep::ready) co_return Exchange::Warmed{Exchange::Warmed::failed, "malformed"};
  Client nobody(nullptr, local.inboxes);
  nobody.address = "unix";
  Exchange exchange(local);
  exchange.begin(nobody, head.request, base::read_clock());
  co_return co_await exchange.warm();
}

// What hears the end of a lane; destroyed unheard is an end too.
struct Warmer::LaneEnd {
  explicit LaneEnd(std::shared_ptr<Job> j) noexcept : job(std::move(j)) {}
  LaneEnd(LaneEnd&&) noexcept = default;
  LaneEnd& operator=(LaneEnd&&) = delete;
  ~LaneEnd() {
    if (job) job->end_lane();
  }
  void operator()(std::exception_ptr const& failure) const {
    if (failure) observe::log_error("warm-lane-failed");
  }
  std::shared_ptr<Job> job;
};

void Warmer::Job::end_lane() noexcept {
  if (lanes.fetch_sub(1) != 1) return;
  observe::log_info("warm-ended",
                    {{"id", id}, {"done", done.load()}, {"skipped", skipped.load()}, {"failed", failed.load()}});
}

asio::awaitable<void> Warmer::work(Local& local, std::shared_ptr<Job> job) {
  while (!local.shared.draining.load(std::memory_order_relaxed)) {
    auto const at = job->next.fetch_add(1);
    if (at >= job->order.urls.size()) break;
    auto const& url = job->order.urls[at];
    job->under_way.fetch_add(1);
    Exchange::Warmed warmed{Exchange::Warmed::failed, "internal"};
    try {
      warmed = co_await job->warm(local, url);
    } catch (std::exception const& error) { observe::log_error("warm-failed", {{"what", std::string_view(error.what())}}); }
    job->under_way.fetch_sub(1);
    job->count(url, warmed);
  }
}

WarmBegun Warmer::begin(WarmOrder order, config::Settings const& settings, std::vector<Local*> const& workers) {
  WarmBegun begun;
  begun.mistakes = Reading(settings, order).mistakes();
  if (!begun.mistakes.empty()) return begun;
  auto const job = std::make_shared<Job>();
  job->order = std::move(order);
  begun.total = job->order.urls.size();
  auto const lanes = std::min(begun.total, std::uint64_t{warm_at_once});
  job->lanes.store(lanes);
  {
    std::lock_guard const lock(mutex_);
    if ((job_ && !job_->ended()) || shared_.draining.load(std::memory_order_relaxed)) return begun;
    begun.id = job->id = ++last_id_;
    job_ = job;
  }
  observe::log_info("warm-began", {{"id", begun.id}, {"urls", begun.total}});
  std::vector<LaneEnd> ends;  // each lane has one from now on, begun or not
  ends.reserve(lanes);
  for (std::size_t i = 0; i < lanes; ++i) ends.emplace_back(job);
  for (std::size_t i = 0; i < lanes; ++i) {
    auto& local = *workers[i % workers.size()];
    asio::co_spawn(local.io, work(local, job), std::move(ends[i]));
  }
  return begun;
}

WarmProgress Warmer::progress() const {
  std::shared_ptr<Job> job;
  {
    std::lock_guard const lock(mutex_);
    job = job_;
  }
  WarmProgress progress;
  if (!job) return progress;
  progress.id = job->id;
  progress.total = job->order.urls.size();
  progress.done = job->done.load();
  progress.skipped = job->skipped.load();
  progress.failed = job->failed.load();
  progress.under_way = job->under_way.load();
  progress.ended = job->ended();
  std::lock_guard const lock(job->mutex);
  progress.failures = job->failures;
  return progress;
}

}  // namespace weir::proxy
