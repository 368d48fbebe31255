#include "command_text.hpp"

#include <array>
#include <cmath>
#include <iomanip>
#include <string>

namespace weir::daemon {
namespace {

using boost::json::object;
using boost::json::value;

std::string_view text(value const& v) { return v.is_null() ? std::string_view() : std::string_view(v.as_string()); }
double number(value const& v) { return v.to_number<double>(); }
std::int64_t whole(value const& v) { return std::llround(number(v)); }

// A label and what it says, in two columns.
std::ostream& row(std::ostream& out, std::string_view label) { return out << std::left << std::setw(12) << label; }

std::string rounded(double amount) {
  auto const tenths = std::llround(amount * 10);
  auto digits = std::to_string(tenths / 10);
  if (tenths < 0 && tenths > -10) digits.insert(0, "-");
  if (tenths % 10 != 0) digits.append(".").append(std::to_string(std::abs(tenths % 10)));
  return digits;
}

std::string in_seconds(value const& v) { return rounded(number(v)) + " s"; }

std::string in_bytes(double bytes) {
  static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return rounded(bytes) + ' ' + std::string(units[unit]);
}

std::string uptime(double amount) {
  auto const all = std::llround(amount);
  if (all < 120) return std::to_string(all) + " s";
  if (all < 7200) return std::to_string(all / 60) + " min";
  if (all < 172'800) return std::to_string(all / 3600) + " h " + std::to_string(all / 60 % 60) + " min";
  return std::to_string(all / 86'400) + " d " + std::to_string(all / 3600 % 24) + " h";
}

// Counts that are not 0: "hit 3, miss 1".
std::string counted(object const& counts) {
  std::string words;
  for (auto const& [name, count] : counts) {
    if (whole(count) == 0) continue;
    words.append(words.empty() ? "" : ", ").append(name).append(" ").append(std::to_string(whole(count)));
  }
  return words.empty() ? "none" : words;
}

void print_pairs(std::string_view label, value const& pairs, std::ostream& out) {
  for (auto const& pair : pairs.as_array()) {
    row(out, label) << text(pair.at("name"));
    if (pair.at("value").is_null())
      out << " (absent)\n";
    else
      out << ": " << text(pair.at("value")) << '\n';
    label = "";
  }
}

void print_origin(value const& origin, std::ostream& out) {
  auto const& limiter = origin.at("limiter");
  row(out, "origin") << text(origin.at("name")) << ": breaker " << text(origin.at("breaker")) << ", "
                     << whole(limiter.at("fetches")) + whole(limiter.at("background")) << " of "
                     << whole(limiter.at("max_concurrent")) << " permits, " << whole(limiter.at("queued")) << " queued\n";
}

void print_request(value const& answer, std::ostream& out) {
  auto const& request = answer.at("request");
  row(out, "request") << text(request.at("method")) << ' ' << text(request.at("url")) << '\n';
  if (text(request.at("site")).empty()) return;
  row(out, "site") << text(request.at("site"));
  if (!text(request.at("route")).empty()) out << ", route " << text(request.at("route"));
  out << ", origin " << text(request.at("origin")) << '\n';
  if (answer.at("key").is_null()) return;
  row(out, "key") << text(answer.at("key").at("text")) << '\n';
  row(out, "") << "sha256 " << text(answer.at("key").at("sha256")) << '\n';
  print_pairs("varies on", answer.at("vary").at("selected_by"), out);
  print_pairs("forwarded", request.at("forwarded"), out);
}

void print_entry(value const& answer, std::ostream& out) {
  if (answer.at("entry").is_null()) {
    if (!answer.at("key").is_null()) row(out, "entry") << "none\n";
    return;
  }
  auto const& entry = answer.at("entry");
  auto const& freshness = answer.at("freshness");
  row(out, "entry") << whole(entry.at("status")) << ", " << in_bytes(number(entry.at("body_bytes")));
  if (!text(entry.at("etag")).empty()) out << ", ETag " << text(entry.at("etag"));
  if (!text(entry.at("last_modified")).empty()) out << ", Last-Modified " << text(entry.at("last_modified"));
  out << '\n';
  row(out, "age") << in_seconds(freshness.at("age_seconds")) << " = " << in_seconds(freshness.at("age_at_arrival_seconds"))
                  << " at arrival + " << in_seconds(freshness.at("held_seconds")) << " here\n";
  row(out, "lifetime") << in_seconds(freshness.at("lifetime_seconds")) << " (" << text(freshness.at("lifetime_source"))
                       << "), ttl " << in_seconds(freshness.at("ttl_seconds")) << '\n';
  row(out, "windows") << "stale-while-revalidate " << in_seconds(freshness.at("stale_while_revalidate_seconds"))
                      << ", stale-if-error " << in_seconds(freshness.at("stale_if_error_seconds")) << '\n';
  if (!freshness.at("invalidated").is_null())
    row(out, "invalidated") << text(freshness.at("invalidated").at("mode")) << ", "
                            << in_seconds(freshness.at("invalidated").at("seconds_ago")) << " ago\n";
  row(out, "reuse") << text(answer.at("reuse").at("verdict")) << ": " << text(answer.at("reuse").at("why")) << '\n';
}

}  // namespace

void print_purge(value const& answer, std::ostream& out) {
  if (answer.at("dry_run").as_bool())
    out << "would hit " << whole(answer.at("entries")) << " stored responses (" << text(answer.at("mode")) << "):\n";
  else
    out << "purged (" << text(answer.at("mode")) << "), id " << whole(answer.at("id")) << ":\n";
  for (auto const& what : answer.at("applied_to").as_array()) out << "  " << text(what) << '\n';
}

void print_stats(value const& answer, std::ostream& out) {
  auto const& share = answer.at("share_without_fetch");
  auto const& memory = answer.at("memory");
  row(out, "weir") << text(answer.at("version")) << ", up " << uptime(number(answer.at("uptime_seconds"))) << ", mode "
                   << text(answer.at("mode")) << (answer.at("draining").as_bool() ? ", draining" : "") << '\n';
  row(out, "requests") << whole(answer.at("requests").at("total")) << ", "
                       << (share.is_null() ? std::string("none that needed an answer yet")
                                           : rounded(number(share) * 100) + " % needed no fetch")
                       << '\n';
  row(out, "") << counted(answer.at("requests").at("by_outcome").as_object()) << '\n';
  row(out, "fetches") << whole(answer.at("origin_fetches")) << ", " << whole(answer.at("fetches").at("in_flight"))
                      << " in flight; " << whole(answer.at("coalesced")) << " answers came from another's\n";
  row(out, "flights") << whole(answer.at("flights").at("under_way")) << ", " << whole(answer.at("flights").at("waiting"))
                      << " waiting\n";
  row(out, "store") << text(answer.at("store").at("type")) << ", " << in_bytes(number(memory.at("store_bytes"))) << " of "
                    << in_bytes(number(memory.at("store_max_bytes"))) << ", " << whole(memory.at("store_entries"))
                    << " entries\n";
  row(out, "shed") << counted(answer.at("shed").as_object()) << '\n';
  row(out, "stale") << counted(answer.at("stale_served").as_object()) << '\n';
  row(out, "clients") << whole(answer.at("connections")) << " connections\n";
  for (auto const& origin : answer.at("origins").as_array()) print_origin(origin, out);
}

void print_explanation(value const& answer, std::ostream& out) {
  row(out, "decision") << text(answer.at("decision"));
  if (auto const* const status = answer.as_object().if_contains("status")) out << ' ' << whole(*status);
  out << '\n';
  row(out, "why") << text(answer.at("why")) << '\n';
  if (text(answer.at("decision")) != "refuse")
    row(out, "tells") << "Cache-Status: " << text(answer.at("cache_status")) << '\n';
  print_request(answer, out);
  print_entry(answer, out);
  if (auto const& marker = answer.at("marker"); !marker.is_null())
    row(out, "marker") << "hit-for-miss, for another " << in_seconds(marker.at("left_seconds")) << '\n';
  if (auto const& negative = answer.at("negative"); !negative.is_null())
    row(out, "negative") << whole(negative.at("status")) << ", for another " << in_seconds(negative.at("left_seconds"))
                         << '\n';
  if (auto const& flight = answer.at("flight"); !flight.is_null())
    row(out, "flight") << whole(flight.at("fetches")) << " under way, " << whole(flight.at("waiters")) << " waiting\n";
  if (auto const& breaker = answer.at("breaker"); !breaker.is_null()) {
    auto const& limiter = answer.at("limiter");
    row(out, "breaker") << text(breaker.at("state")) << '\n';
    row(out, "limiter") << whole(limiter.at("in_use")) << " of " << whole(limiter.at("max_concurrent")) << " permits, "
                        << whole(limiter.at("queued")) << " queued; a fetch now: " << text(limiter.at("permit")) << '\n';
  }
  row(out, "store") << text(answer.at("store").at("type"));
  if (auto const* const note = answer.at("store").as_object().if_contains("note")) out << ": " << text(*note);
  out << '\n';
}

void print_mode(value const& answer, std::ostream& out) {
  out << "mode " << text(answer.at("mode"));
  if (!answer.at("left_seconds").is_null()) out << ", for another " << in_seconds(answer.at("left_seconds"));
  out << '\n';
}

void print_reload(value const& answer, std::ostream& out) {
  out << "reloaded\n";
  for (auto const& warning : answer.at("warnings").as_array()) out << "warning: " << text(warning) << '\n';
}

void print_drain(value const&, std::ostream& out) { out << "draining\n"; }

void print_problem(value const& answer, std::ostream& out) {
  auto const& object = answer.as_object();
  if (auto const* const detail = object.if_contains("detail")) out << "weir: " << text(*detail) << '\n';
  auto const* const mistakes = object.if_contains("mistakes");
  if (mistakes == nullptr) return;
  for (auto const& mistake : mistakes->as_array()) {
    out << "weir: ";
    if (mistake.is_string()) {
      out << text(mistake) << '\n';
      continue;
    }
    if (whole(mistake.at("line")) > 0)
      out << text(mistake.at("file")) << ':' << whole(mistake.at("line")) << ':' << whole(mistake.at("column")) << ": ";
    if (!text(mistake.at("path")).empty()) out << text(mistake.at("path")) << ": ";
    out << text(mistake.at("what")) << '\n';
  }
}

}  // namespace weir::daemon
