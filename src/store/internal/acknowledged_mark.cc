#include "store/internal/acknowledged_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "store/internal/fatal.h"
#include "store/internal/log_codec.h"

namespace homeostat::store::internal {
namespace {

constexpr std::string_view kMagic = "HSTMARK1";
constexpr size_t kSlotSize = 48;
constexpr off_t kSlotDistance = 4096;

struct Slot {
  Mark mark;
  uint64_t sequence = 0;
};

std::string EncodeSlot(const Slot& slot) {
  std::string text(kMagic);
  for (uint64_t value : {slot.mark.store_id, slot.sequence, slot.mark.revision, slot.mark.chain}) {
    text += EncodeUint64(value);
  }
  return text + EncodeUint64(Checksum(text));
}

std::optional<Slot> DecodeSlot(std::string_view text) {
  if (text.size() != kSlotSize || !text.starts_with(kMagic)) return std::nullopt;
  auto field = [text](size_t index) { return *DecodeUint64(text.substr(8 * index, 8)); };
  if (field(5) != Checksum(text.substr(0, kSlotSize - 8))) return std::nullopt;
  return Slot{.mark = {.store_id = field(1), .revision = field(3), .chain = field(4)}, .sequence = field(2)};
}

off_t SlotOffset(uint64_t sequence) { return static_cast<off_t>(sequence % 2) * kSlotDistance; }

// The name of a new file is durable only with its folder.
bool SyncFolder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool synced = ::fsync(folder) == 0;
  ::close(folder);
  return synced;
}

}  // namespace

AcknowledgedMark::~AcknowledgedMark() {
  if (file_ >= 0) ::close(file_);
}

Status AcknowledgedMark::Failure(std::string_view doing) const {
  return SystemError("cannot " + std::string(doing) + " " + path_, errno);
}

Result<AcknowledgedMark::Reading> AcknowledgedMark::Open() {
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0 && errno == ENOENT) return Reading{};
  if (file_ < 0) return Fail(Failure("open"));
  struct stat info {};
  if (::fstat(file_, &info) != 0) return Fail(Failure("read"));
  if (info.st_size == 0) return Reading{.found = Found::kEmpty};
  std::optional<Slot> newest;
  for (uint64_t which : {0, 1}) {
    std::string text(kSlotSize, '\0');
    const ssize_t size = ::pread(file_, text.data(), text.size(), SlotOffset(which));
    if (size < 0) return Fail(Failure("read"));
    text.resize(static_cast<size_t>(size));
    auto slot = DecodeSlot(text);
    if (slot && (!newest || slot->sequence > newest->sequence)) newest = slot;
  }
  if (!newest) {
    return Fail(SystemError("the note of acknowledged revisions in " + path_ +
                            " is damaged; to take the log as it stands, empty that file"));
  }
  sequence_ = newest->sequence;
  return Reading{.found = Found::kMark, .mark = newest->mark};
}

Result<void> AcknowledgedMark::Create(const Mark& mark) {
  if (file_ >= 0) ::close(file_);
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file_ < 0) return Fail(Failure("create"));
  // Both slots, so that later writes find their blocks and the file's size in place.
  sequence_ = 0;
  if (!WriteSlot(mark) || !WriteSlot(mark)) return Fail(Failure("write"));
  if (::fsync(file_) != 0) return Fail(Failure("write"));
  if (!SyncFolder(std::filesystem::path(path_).parent_path().string())) return Fail(Failure("write the folder of"));
  return {};
}

bool AcknowledgedMark::WriteSlot(const Mark& mark) {
  const std::string text = EncodeSlot({.mark = mark, .sequence = ++sequence_});
  return ::pwrite(file_, text.data(), text.size(), SlotOffset(sequence_)) == static_cast<ssize_t>(text.size());
}

void AcknowledgedMark::Write(const Mark& mark) {
  if (!WriteSlot(mark)) Fatal(Failure("write").message());
}

void AcknowledgedMark::Sync() {
  if (::fdatasync(file_) != 0) Fatal(Failure("write").message());
}

}  // namespace homeostat::store::internal
