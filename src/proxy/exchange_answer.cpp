// How an exchange writes its answers: out of the store, out of a flight, or its own.
#include <algorithm>

#include <boost/asio/co_spawn.hpp>

#include "cut_off.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/cache/storability.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/edits.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using http::Method;
using observe::Outcome;

namespace {

// In the access log, as other proxies write it: the client left before there was an answer.
constexpr int client_left = 499;
constexpr std::string_view methods = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

bool never_has_body(int status) noexcept { return status == 204 || status == 304 || status < 200; }

cache::Representation representation(int status, std::string_view etag, std::string_view last_modified, base::WallTime date,
                                     std::optional<std::uint64_t> size) {
  return {status, etag, last_modified, date, size};
}

}  // namespace

// Whether the answer that is being written is the connection's last. What its head says of that holds to its end: a client
// that was told to go on may have sent its next request already.
bool Exchange::is_last() noexcept {
  bool const retires = client_->retiring || local_.shared.draining.load(std::memory_order_relaxed);
  ends_ = !request_.keep_alive || close_ || (retires && !client_->is_owed_more());
  return ends_;
}

void Exchange::count(Outcome outcome) noexcept {
  local_.metrics.request(snapshot_->setup->site_rows[routed_.site_index], outcome);
  sent_.outcome = outcome;
  sent_.began = base::Clock::now();
  local_.metrics.request_seconds.observe(sent_.began - came_.steady);
  if (!key_.empty()) local_.hot.count(outcome, cache::view(key_), hash_);
  if (outcome == Outcome::stale && decision_.cache_status.detail == observe::detail::stale_while_revalidate)
    local_.metrics.stale_served[static_cast<std::size_t>(observe::StaleReason::while_revalidate)].add();
  if (outcome != Outcome::collapsed) return;
  local_.metrics.coalesced.add();
  if (decision_.cache_status.forwarded == observe::Forwarded::stale) local_.metrics.refresh_collapsed.add();
}

Exchange::HitParts Exchange::compose_hit(std::string& out) {
  auto const& entry = *decision_.entry;
  auto const& facts = entry.facts();
  auto const body = entry.body();
  cache::Selection selection;
  if (facts.status == 200 && cache::has_conditionals(request_.fields))
    selection = cache::select(request_, representation(200, entry.etag(), entry.last_modified(), facts.date, body.size()),
                              came_.wall);

  AnswerTail tail;
  tail.age = decision_.reuse.age;
  tail.cache_status = decision_.cache_status;
  tail.close = is_last();
  tail.say_keep_alive = request_.version == 10;
  HitParts parts{entry.head(), body};
  switch (selection.cut) {
    case cache::Cut::whole:
      break;
    case cache::Cut::partial:
      parts.body = body.substr(static_cast<std::size_t>(selection.range.first),
                               static_cast<std::size_t>(selection.range.last - selection.range.first + 1));
      break;
    case cache::Cut::not_modified:
    case cache::Cut::precondition_failed:
    case cache::Cut::unsatisfiable:
      parts.body = {};
  }
  auto const& edits = routed_.policy->headers.response;
  if (selection.cut != cache::Cut::whole)
    append_cut_head(out, entry.head(), selection, body.size());
  else if (has_edits(edits))
    out += entry.head();
  if (!out.empty()) {
    edit_head(out, edits);
    parts.head = {};
  }
  bool const bodiless = selection.cut == cache::Cut::not_modified || never_has_body(facts.status);
  tail.framing = bodiless ? BodyFraming::none : BodyFraming::length;
  tail.length = parts.body.size();
  if (request_.method_id == Method::head) parts.body = {};
  append_tail(out, tail);
  sent_.status = selection.cut == cache::Cut::whole ? facts.status : status_of(selection.cut);
  sent_.body_bytes = parts.body.size();
  return parts;
}

asio::awaitable<After> Exchange::send_hit() {
  std::string out;
  bool const begun = !begun_.empty(), ended = ends_;
  auto const parts = compose_hit(out);
  if (begun) {
    out = begun_;
    ends_ = ended;
  }
  std::array<asio::const_buffer, 3> buffers{asio::buffer(parts.head), asio::buffer(out), asio::buffer(parts.body)};
  for (auto& buffer : buffers) {  // what act one got rid of already
    auto const done = std::min(written_, buffer.size());
    buffer += done;
    written_ -= done;
  }
  if (!begun) count(decision_.outcome);
  bool const sent = co_await client_->write(buffers, no_progress());
  sent_.whole = sent;
  co_await end_upload();
  co_return sent ? after() : After::close;
}

// What an arriving answer looks like to this requester: whole, or what its own conditionals and range cut out of it
// (COA-13).
asio::awaitable<After> Exchange::send_flight(shield::SlotWaiter& waiter) {
  auto const flight = waiter.flight.flight();
  shield::Reader reader(std::move(waiter.flight));
  auto const& head = *flight->head();
  // COA-5: everyone gets the error, but what one requester was told (a session's cookie, say) stays with that one, and so
  // does what is in a coding or language of its own.
  auto const is_for_all = [&] {
    return head.shareable && cache::selects(http::Fields(forwarded_), head.selector, routed_.policy->key);
  };
  if (head.origin_error && !waiter.leader && !is_for_all()) {
    decision_.cache_status.collapsed = observe::Collapsed::yes;
    decision_.cache_status.forwarded_status = head.status;
    OwnAnswer answer;
    answer.status = head.status;
    answer.proxy_error = "destination_unavailable";
    answer.received_status = head.status;
    answer.cache_status = decision_.cache_status;
    co_return co_await send_own(answer, Outcome::collapsed);
  }

  auto const selection = select(head);
  bool const cut_to_nothing = selection.cut == cache::Cut::not_modified ||
                              selection.cut == cache::Cut::precondition_failed || selection.cut == cache::Cut::unsatisfiable;
  bool const head_only = request_.method_id == Method::head;
  if (upload_ && (!upload_->finished() || !client_->body_done()))
    close_ = true;  // its rest would be read as the next request: say so
  auto framing = BodyFraming::chunked;
  bool const bodiless = selection.cut == cache::Cut::not_modified || never_has_body(head.status);
  bool const known = cut_to_nothing || head.length || selection.cut == cache::Cut::partial;
  if (bodiless || (head_only && !known))
    framing = BodyFraming::none;
  else if (known)
    framing = BodyFraming::length;
  else if (request_.version == 10)
    framing = BodyFraming::until_close;
  if (framing == BodyFraming::until_close) close_ = true;

  std::string out;
  auto const outcome = compose_flight(head, waiter.leader, selection, framing, out);
  count(outcome);
  CutOff cut_off(*client_, reader, local_.io.get_executor(), local_.worker);
  bool const with_body = !head_only && !cut_to_nothing && !never_has_body(head.status);
  bool const partial = selection.cut == cache::Cut::partial;
  // What is there of the body goes with the head: a small answer is one write, and a write is the dearest part of a miss.
  std::array<asio::const_buffer, 2> first{asio::buffer(out), asio::const_buffer()};
  if (with_body && !partial && framing == BodyFraming::length) {
    auto const there = reader.peek().bytes;
    first[1] = asio::const_buffer(there.data(), there.size());
  }
  bool const end_is_all = with_body && framing == BodyFraming::until_close;
  if (end_is_all) client_->stream().end_is_a_break(true);  // a clean end would look whole
  bool whole = co_await client_->write(first, no_progress());
  if (whole && first[1].size() > 0) {
    sent_.body_bytes += first[1].size();
    reader.advance(first[1].size(), base::Clock::now());
  }
  bool const all_sent = flight->body_state() == shield::BodyState::complete && reader.cursor() == head.length;
  if (whole && with_body && !all_sent)
    whole = co_await send_body(reader, framing, partial ? selection.range.first : 0,
                               partial ? selection.range.last : std::numeric_limits<std::uint64_t>::max() - 1);
  co_await cut_off.end();
  sent_.whole = whole;
  if (!whole) close_ = true;
  if (end_is_all && whole) client_->stream().end_is_a_break(false);
  if (end_is_all && !whole) client_->stream().reset();
  co_await end_upload();
  co_return after();
}

// COA-13: what this request's own conditionals and range cut out of a shared answer.
cache::Selection Exchange::select(shield::FlightHead const& head) const {
  if (decision_.forward != ForwardAs::canonical || head.status != 200 || !cache::has_conditionals(request_.fields))
    return {};
  return cache::select(request_, representation(200, head.etag(), head.last_modified(), head.facts.date, head.length),
                       came_.wall);
}

// SRV-3: the whole would come for a part of it, and nobody may have the rest.
bool Exchange::wants_own_range(shield::FlightHead const& head) const {
  return !head.stored && !head.shareable && head.length && *head.length > routed_.policy->storable.max_object &&
         select(head).cut == cache::Cut::partial;
}

Outcome Exchange::compose_flight(shield::FlightHead const& head, bool leader, cache::Selection const& selection,
                                 BodyFraming framing, std::string& out) {
  sent_.status = selection.cut == cache::Cut::whole ? head.status : status_of(selection.cut);
  out.reserve(head.head.size() + head.leader_only.size() + 300);  // with its tail
  if (selection.cut == cache::Cut::whole)
    out = head.head;
  else
    append_cut_head(out, head.head, selection, head.length.value_or(0));
  if (leader && (selection.cut == cache::Cut::whole || selection.cut == cache::Cut::partial)) out += head.leader_only;
  edit_head(out, routed_.policy->headers.response);

  AnswerTail tail;
  tail.framing = framing;
  switch (selection.cut) {
    case cache::Cut::whole:
      tail.length = head.length.value_or(0);
      break;
    case cache::Cut::partial:
      tail.length = selection.range.last - selection.range.first + 1;
      break;
    default:
      tail.length = 0;
  }
  auto& status = decision_.cache_status;
  status.forwarded_status = head.status;
  status.stored = head.stored && head.kept && leader;
  if (head.stored) {
    auto const age = cache::current_age(head.facts, base::Clock::now());
    if (head.kept) status.ttl = head.facts.lifetime - age;
    if (!leader || age >= std::chrono::seconds(1)) tail.age = age;
  }
  if (!leader) status.collapsed = observe::Collapsed::yes;
  tail.cache_status = status;
  tail.close = is_last();
  tail.say_keep_alive = request_.version == 10;
  append_tail(out, tail);
  return leader ? decision_.outcome : Outcome::collapsed;
}

// The next bytes, or the end. A requester who is owed bytes and resets its connection is noticed.
asio::awaitable<shield::Reader::Chunk> Exchange::next_chunk(shield::Reader& reader, Parking& parking) {
  for (;;) {
    auto const chunk = reader.peek();
    if (!chunk.bytes.empty() || chunk.state != shield::BodyState::growing) co_return chunk;
    shield::Waiter waiter;
    parking.attach(waiter);
    if (!reader.wait(waiter)) continue;
    std::optional<Watching> watching(std::in_place, *client_, parking);
    auto const woken = co_await parking.until(base::SteadyTime::max());
    watching.reset();
    if (woken == Woken::resumed) continue;
    if (!reader.cancel_wait(waiter)) co_await parking.until_resumed();
    if (client_->departed()) co_return shield::Reader::Chunk{shield::BodyState::cut_off, {}};
  }
}

// COA-9, COA-10: bytes first to last (both included) at this reader's own speed. False: the message is broken, for the
// client too, who sees its connection closed before the end.
asio::awaitable<bool> Exchange::send_body(shield::Reader& reader, BodyFraming framing, std::uint64_t first,
                                          std::uint64_t last) {
  Parking parking(local_.io.get_executor(), local_.worker);
  while (reader.cursor() <= last) {
    auto const chunk = co_await next_chunk(reader, parking);
    if (chunk.bytes.empty()) {
      if (chunk.state != shield::BodyState::complete) co_return false;
      break;
    }
    std::size_t skip = 0;
    if (reader.cursor() < first)
      skip = static_cast<std::size_t>(std::min<std::uint64_t>(chunk.bytes.size(), first - reader.cursor()));
    auto const bytes = chunk.bytes.subspan(skip);
    auto const size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), last - reader.cursor() - skip + 1));
    if (size > 0) {
      char line[20];
      std::array<asio::const_buffer, 3> buffers{asio::const_buffer(), asio::buffer(bytes.data(), size),
                                                asio::const_buffer()};
      if (framing == BodyFraming::chunked) {
        buffers[0] = asio::const_buffer(line, wire::write_chunk_size(size, line));
        buffers[2] = asio::const_buffer("\r\n", 2);
      }
      if (!co_await client_->write(buffers, no_progress())) co_return false;
      sent_.body_bytes += size;
    }
    reader.advance(skip + size, base::Clock::now());
  }
  if (framing == BodyFraming::chunked) co_return co_await client_->write("0\r\n\r\n", no_progress());
  co_return true;
}

asio::awaitable<After> Exchange::send_refusal() {
  OwnAnswer answer;
  answer.status = decision_.status;
  switch (decision_.status) {
    case 200:
      answer.allow = methods;
      break;
    case 405:
      answer.allow = methods;
      answer.proxy_error = "http_request_denied";
      break;
    case 421:
      answer.proxy_error = "destination_not_found";
      break;
    case 504:  // only-if-cached (SRV-5)
      answer.proxy_error = "http_request_denied";
      break;
    case 508:
      answer.proxy_error = "proxy_loop_detected";
      break;
    default:
      break;
  }
  if (decision_.failed.status != 0) {
    answer.proxy_error = "destination_unavailable";
    answer.retry_after = decision_.failed.retry_after;
    answer.cache_status = decision_.cache_status;
    local_.metrics.negative_served.add();
  }
  if (request_.has_body()) close_ = true;
  co_return co_await send_own(answer, decision_.failed.status != 0 ? Outcome::error : Outcome::refused);
}

int Exchange::status_for(shield::FailureKind failure) const noexcept {
  if (decision_.entry && decision_.entry->facts().must_revalidate) return 504;  // STL-3
  return shield::status_of(failure);
}

asio::awaitable<After> Exchange::send_failure(shield::FailureKind failure) {
  auto const fault = upload_ ? upload_->client_fault() : BodyRead::end;
  OwnAnswer answer;
  answer.status = status_for(failure);
  answer.proxy_error = shield::proxy_error(failure);
  if (fault != BodyRead::end) co_return co_await send_body_fault(fault);
  if (answer.status == 503) answer.retry_after = 1 + static_cast<std::uint32_t>(local_.chance() * 5.0);
  bool const shed = failure == shield::FailureKind::queue_full || failure == shield::FailureKind::queue_timeout ||
                    failure == shield::FailureKind::breaker_open;
  co_return co_await send_own(answer, shed ? Outcome::shed : Outcome::error);
}

// The request was broken, not the origin.
asio::awaitable<After> Exchange::send_body_fault(BodyRead fault) {
  if (fault == BodyRead::gone) co_return co_await leave();
  OwnAnswer answer;
  answer.status = fault == BodyRead::too_large ? 413 : fault == BodyRead::timed_out ? 408 : 400;
  answer.proxy_error = "http_request_error";
  close_ = true;
  co_return co_await send_own(answer, Outcome::error);
}

asio::awaitable<After> Exchange::send_own(OwnAnswer answer, Outcome outcome) {
  answer.head_only = request_.method_id == Method::head;
  if (upload_ && (!upload_->finished() || !client_->body_done())) close_ = true;  // as in send_flight
  answer.close = is_last();
  if (answer.page == nullptr) answer.page = error_page(settings(), answer.status);
  std::string out;
  append_own_answer(out, answer, base::read_clock().wall);
  sent_.status = answer.status;
  sent_.body_bytes = out.size() - out.find("\r\n\r\n") - 4;
  count(outcome);
  bool const sent = co_await client_->write(out, no_progress());
  sent_.whole = sent;
  co_await end_upload();
  co_return sent ? after() : After::close;
}

// The requester is gone: nothing is owed any more.
asio::awaitable<After> Exchange::leave() {
  close_ = true;
  if (upload_) upload_->cut();
  sent_.status = client_left;
  sent_.whole = false;
  count(Outcome::error);
  co_await end_upload();
  co_return After::close;
}

namespace {

// What hears the pump's end; destroyed unheard is an end too. The pump uses the client to its own end, whatever becomes of
// the exchange.
struct PumpEnd {
  PumpEnd(base::Ref<Upload> u, std::shared_ptr<void> c) noexcept : upload(std::move(u)), client(std::move(c)) {}
  PumpEnd(PumpEnd&&) noexcept = default;
  PumpEnd& operator=(PumpEnd&&) = delete;
  ~PumpEnd() {
    if (upload) upload->set_finished();
  }
  void operator()(std::exception_ptr const& failure) const {
    if (!failure) return;
    observe::log_error("upload-failed");
    upload->cut();
  }
  base::Ref<Upload> upload;
  std::shared_ptr<void> client;
};

}  // namespace

void Exchange::start_upload() {
  upload_ = new Upload(local_.io.get_executor(), request_.expects_continue, request_.framing.kind == http::BodyKind::chunked,
                       body_ ? std::move(*body_) : std::string());
  if (!body_) client_->begin_body(request_.framing, settings().limits.body_bytes);
  asio::co_spawn(local_.io, upload_->pump(*client_, no_progress()), PumpEnd(upload_, client_->owner.lock()));
}

// The answer is over. A body that is still coming ends the connection: its rest would be read as the next request.
asio::awaitable<void> Exchange::end_upload() {
  if (!upload_) co_return;
  if (!upload_->finished()) {
    close_ = true;
    client_->stream().cancel();
    co_await upload_->wait_finished();
  }
  if (!client_->body_done()) close_ = true;
}

}  // namespace weir::proxy
