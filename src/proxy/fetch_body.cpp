// How the body of a fetch comes in: by its framing, as fast as its readers allow where it is not stored (COA-9, STO-1).
#include <cstring>

#include "fetch_impl.hpp"
#include "weir/wire/chunked.hpp"

namespace weir::proxy {

asio::awaitable<wire::Transferred> Fetch::read(std::span<char> into) {
  connection_->deadline.expires_after(order_.origin->settings.timeouts.stream_idle);
  co_return co_await connection_->stream->read_some(into);
}

// Room for the next bytes. Empty: nobody wants them any more.
asio::awaitable<std::span<char>> Fetch::room() {
  bool const outgrown =
      verdict_.store;  // a full window of an answer that was to be stored; any other waits for its one reader
  auto const allowance = order_.policy->coalesce.window_stall;
  for (;;) {
    if (auto const span = flight().room(); !span.empty()) co_return span;
    shield::Waiter waiter;
    parking_.attach(waiter);
    if (!flight().wait_for_room(waiter, base::Clock::now())) continue;
    connection_->deadline.clear();  // it is a reader that is slow
    auto const woken = co_await parking_.until(outgrown ? flight().next_cut_off(allowance) : base::SteadyTime::max());
    if (woken != Woken::resumed && !flight().cancel_wait_for_room(waiter)) co_await parking_.until_resumed();
    if (woken == Woken::interrupted && !order_.unsafe && !storing_ && flight().interest() == 0) co_return std::span<char>();
    if (outgrown) flight().cut_off_stalled(allowance, base::Clock::now());
  }
}

void Fetch::took(std::size_t bytes) {
  flight().commit(bytes, base::Clock::now());
  if (held_back_ && flight().size() >= order_.policy->coalesce.hold) tell_head();
  if (place_ || !storing_) return;
  held_ += bytes;
  shared_.flight_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (flight().size() <= order_.policy->storable.max_object) return;
  // COA-9: it outgrew max_object in the middle; correct for all who joined, for nobody else.
  if (held_back_) tell_head();  // its readers begin with the first byte, or with none
  storing_ = false;
  local_.metrics.not_stored[static_cast<std::size_t>(cache::NotStored::too_large)].add();
  mark_hit_for_miss(base::read_clock());
  order_.ticket.close_to_newcomers();
  flight().outgrow();
  permit_.permit.move_to_stream();
  if (flight().interest() == 0) on_interest();
}

asio::awaitable<bool> Fetch::receive() {
  switch (response_.framing.kind) {
    case http::BodyKind::none:
      co_return true;
    case http::BodyKind::length:
      co_return co_await receive_length(response_.framing.length);
    case http::BodyKind::chunked:
      co_return co_await receive_chunked();
    case http::BodyKind::until_close:
      co_return co_await receive_until_close();
  }
  co_return false;
}

// Straight into its place, past the read buffer, once what the head brought along is used up.
asio::awaitable<bool> Fetch::receive_length(std::uint64_t left) {
  while (left > 0) {
    auto into = co_await room();
    if (into.empty()) co_return false;
    if (into.size() > left) into = into.first(static_cast<std::size_t>(left));
    std::size_t bytes = 0;
    if (auto const unread = inbox_->unread(); !unread.empty()) {
      bytes = std::min(unread.size(), into.size());
      std::memcpy(into.data(), unread.data(), bytes);
      inbox_->begin += bytes;
    } else {
      auto const got = co_await read(into);
      if (got.error) co_return false;
      bytes = got.bytes;
    }
    left -= bytes;
    took(bytes);
  }
  co_return true;
}

asio::awaitable<bool> Fetch::receive_chunked() {
  wire::ChunkedDecoder decoder;
  for (;;) {
    auto const step = decoder.decode(inbox_->unread());
    inbox_->begin += step.consumed;
    switch (step.step) {
      case wire::ChunkedDecoder::Step::malformed:
        co_return false;
      case wire::ChunkedDecoder::Step::done:
        co_return true;
      case wire::ChunkedDecoder::Step::payload:
        for (auto payload = step.payload; !payload.empty();) {
          auto const into = co_await room();
          if (into.empty()) co_return false;
          auto const bytes = std::min(payload.size(), into.size());
          std::memcpy(into.data(), payload.data(), bytes);
          payload.remove_prefix(bytes);
          took(bytes);
        }
        break;
      case wire::ChunkedDecoder::Step::need_more: {
        auto const into = inbox_->room();
        if (into.empty()) co_return false;
        auto const got = co_await read(into);
        if (got.error) co_return false;
        inbox_->end += got.bytes;
      }
    }
  }
}

// STO-1: whole only if the stream ended cleanly.
asio::awaitable<bool> Fetch::receive_until_close() {
  for (;;) {
    auto const into = co_await room();
    if (into.empty()) co_return false;
    if (auto const unread = inbox_->unread(); !unread.empty()) {
      auto const bytes = std::min(unread.size(), into.size());
      std::memcpy(into.data(), unread.data(), bytes);
      inbox_->begin += bytes;
      took(bytes);
      continue;
    }
    auto const got = co_await read(into);
    if (got.error) co_return got.error == asio::error::eof;
    took(got.bytes);
  }
}

}  // namespace weir::proxy
