#include "homeostat/base/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace homeostat {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's envelope
constexpr int kMemory = 8;            // zlib's default
constexpr size_t kPiece = 1 << 30;    // zlib counts in 32 bits

}  // namespace

std::string Gzip(std::string_view bytes, int level) {
  z_stream stream{};
  // Fails only without memory, which ends the process anyway.
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream.avail_in == 0 && !bytes.empty()) {
      size_t piece = std::min(bytes.size(), kPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads there
      stream.avail_in = static_cast<uInt>(piece);
      bytes.remove_prefix(piece);
    }
    size_t done = out.size(), room = std::clamp<size_t>(stream.avail_in / 4, 1 << 12, 1 << 20);
    out.resize(done + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    result = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace homeostat
