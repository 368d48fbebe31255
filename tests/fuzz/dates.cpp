// links: weir_http
// What is read as a date is within the bounds, and reads back from what we write. FRS-1.
#include "weir/http/date.hpp"

#include <cstdint>
#include <cstring>

#include "weir/base/assert.hpp"

using namespace weir;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::int32_t now_seconds = 0;
  if (size < sizeof now_seconds) return 0;
  std::memcpy(&now_seconds, data, sizeof now_seconds);
  base::WallTime const now{std::chrono::seconds(now_seconds)};
  std::string_view const text(reinterpret_cast<char const*>(data) + sizeof now_seconds, size - sizeof now_seconds);
  auto const time = http::parse_date(text, now);
  if (!time) return 0;
  WEIR_ASSERT(*time <= http::max_date && -time->time_since_epoch() <= http::max_date.time_since_epoch());
  char written[http::date_size];
  http::write_date(*time, written);
  WEIR_ASSERT(http::parse_date({written, sizeof written}, now) == time);
  return 0;
}
