#include "runtime/artifact/signing.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "runtime/artifact/sha256.h"
#include "runtime/base/file.h"
#include "runtime/base/unique_fd.h"

namespace modeld {
namespace {

constexpr uint64_t kMaxKeyFileBytes = 64 * 1024;
constexpr size_t kMaxTrustedKeys = 256;

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

Error crypto_error(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return {ErrorCode::kInternal,
          std::string(what) + ": " + (reason == nullptr ? "libcrypto failed" : reason)};
}

// libcrypto would ask on the terminal; an encrypted key is refused instead.
int refuse_passphrase(char*, int, int, void*) {
  return -1;
}

Result<std::string> to_pem(int (*write)(BIO*, EVP_PKEY*), EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr || write(bio.get(), key) != 1) return crypto_error("writing PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(length));
}

int write_private(BIO* bio, EVP_PKEY* key) {
  return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
}

Status write_new_file(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd.valid() && errno == EEXIST) {
    return Error(ErrorCode::kInvalidArgument, path.string() + " exists; keys are not overwritten");
  }
  if (!fd.valid()) return errno_error("creating " + path.string(), errno);
  auto written = write_all(fd.get(), std::as_bytes(std::span(text)));
  if (written.ok() && ::fchmod(fd.get(), mode) != 0) written = errno_error("setting mode", errno);
  if (written.ok() && ::fsync(fd.get()) != 0) written = errno_error("flushing", errno);
  if (!written.ok()) {
    ::unlink(path.c_str());
    return std::move(written).error().in(path.string());
  }
  return {};
}

// `forbidden` are mode bits: a private key others can read is no secret, a public key others can
// write is no trust.
Result<std::string> read_key_file(const std::filesystem::path& path, mode_t forbidden) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("opening " + path.string(), errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("reading " + path.string(), errno);
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > kMaxKeyFileBytes) {
    return Error(ErrorCode::kRefused, path.string() + " is not a key file")
        .expecting("a regular file of at most " + std::to_string(kMaxKeyFileBytes) + " bytes",
                   std::to_string(info.st_size) + " bytes");
  }
  if ((info.st_mode & forbidden) != 0) {
    constexpr mode_t kPermissions = 0777;
    char found[8];
    std::snprintf(found, sizeof found, "%04o", static_cast<unsigned>(info.st_mode & kPermissions));
    const bool secret = (forbidden & S_IROTH) != 0;
    return Error(ErrorCode::kRefused, path.string() + (secret ? ": group or others can read it"
                                                              : ": group or others can write it"))
        .expecting(secret ? "mode 0600" : "mode 0644", std::string("mode ") + found);
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  MODELD_TRY(read_exactly(fd.get(), 0, std::as_writable_bytes(std::span(text))));
  return text;
}

Error not_ed25519(const std::filesystem::path& path, std::string_view want) {
  ERR_clear_error();
  return Error(ErrorCode::kRefused, path.string() + " holds no usable key")
      .expecting(std::string(want), "something else");
}

Result<PublicKey> load_public_key(const std::filesystem::path& path) {
  MODELD_ASSIGN(const std::string text, read_key_file(path, S_IWGRP | S_IWOTH));
  const BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const KeyPtr key(PEM_read_bio_PUBKEY(bio.get(), nullptr, refuse_passphrase, nullptr));
  PublicKey raw{};
  size_t length = raw.size();
  if (key == nullptr || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &length) != 1 || length != raw.size()) {
    return not_ed25519(path, "an Ed25519 public key in PEM");
  }
  return raw;
}

struct KeyFiles {
  std::vector<std::filesystem::path> trusted;
  std::vector<std::filesystem::path> revoked;
};

Result<KeyFiles> public_key_files(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return errno_error("reading " + folder.string(), errno);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error(ErrorCode::kRefused, folder.string() + ": group or others can write it")
        .expecting("mode 0755 or less", "a mode with more");
  }
  std::error_code failure;
  KeyFiles files;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == ".pub") files.trusted.push_back(entry->path());
    if (entry->path().extension() == ".revoked") files.revoked.push_back(entry->path());
    if (files.trusted.size() > kMaxTrustedKeys || files.revoked.size() > kMaxTrustedKeys) {
      return Error(ErrorCode::kExhausted, "too many keys in " + folder.string())
          .expecting("at most " + std::to_string(kMaxTrustedKeys), "more");
    }
  }
  if (failure) return errno_error("reading " + folder.string(), failure.value());
  if (files.trusted.empty() && files.revoked.empty()) {
    return Error(ErrorCode::kNotFound, "no trusted key in " + folder.string())
        .expecting("at least one *.pub", "none");
  }
  std::sort(files.trusted.begin(), files.trusted.end());
  std::sort(files.revoked.begin(), files.revoked.end());
  return files;
}

Result<std::vector<PublicKey>> load_public_keys(const std::vector<std::filesystem::path>& files) {
  std::vector<PublicKey> keys;
  for (const auto& file : files) {
    MODELD_ASSIGN(keys.emplace_back(), load_public_key(file));
  }
  return keys;
}

}  // namespace

Result<SigningKey> SigningKey::generate() {
  const KeyPtr pair(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  SigningKey key;
  size_t length = key.seed_.size();
  if (pair == nullptr || EVP_PKEY_get_raw_private_key(pair.get(), key.seed_.data(), &length) != 1 ||
      length != key.seed_.size()) {
    return crypto_error("making a key");
  }
  return key;
}

Result<SigningKey> SigningKey::load(const std::filesystem::path& path) {
  MODELD_ASSIGN(std::string text, read_key_file(path, S_IRWXG | S_IRWXO));
  const BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  const KeyPtr pair(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse_passphrase, nullptr));
  OPENSSL_cleanse(text.data(), text.size());
  SigningKey key;
  size_t length = key.seed_.size();
  if (pair == nullptr || EVP_PKEY_id(pair.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(pair.get(), key.seed_.data(), &length) != 1 ||
      length != key.seed_.size()) {
    return not_ed25519(path, "an unencrypted Ed25519 private key in PEM");
  }
  return key;
}

SigningKey::~SigningKey() {
  OPENSSL_cleanse(seed_.data(), seed_.size());
}

SigningKey::SigningKey(SigningKey&& other) noexcept : seed_(other.seed_) {
  OPENSSL_cleanse(other.seed_.data(), other.seed_.size());
}

SigningKey& SigningKey::operator=(SigningKey&& other) noexcept {
  if (this == &other) return *this;
  seed_ = other.seed_;
  OPENSSL_cleanse(other.seed_.data(), other.seed_.size());
  return *this;
}

Status SigningKey::save(const std::filesystem::path& path) const {
  const KeyPtr pair(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()));
  if (pair == nullptr) return crypto_error("saving a key");
  MODELD_ASSIGN(std::string text, to_pem(write_private, pair.get()));
  auto written = write_new_file(path, text, S_IRUSR | S_IWUSR);
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

Result<PublicKey> SigningKey::public_key() const {
  const KeyPtr pair(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()));
  PublicKey raw{};
  size_t length = raw.size();
  if (pair == nullptr || EVP_PKEY_get_raw_public_key(pair.get(), raw.data(), &length) != 1) {
    return crypto_error("deriving the public key");
  }
  return raw;
}

Result<Signature> SigningKey::sign(std::span<const std::byte> message) const {
  const KeyPtr pair(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()));
  const DigestPtr context(EVP_MD_CTX_new());
  Signature signature{};
  size_t length = signature.size();
  if (pair == nullptr || context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &length,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1 ||
      length != signature.size()) {
    return crypto_error("signing");
  }
  return signature;
}

Status save_public_key(const PublicKey& key, const std::filesystem::path& path) {
  const KeyPtr evp(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  if (evp == nullptr) return crypto_error("saving a public key");
  MODELD_ASSIGN(
      const std::string text,
      to_pem([](BIO* bio, EVP_PKEY* pkey) { return PEM_write_bio_PUBKEY(bio, pkey); }, evp.get()));
  return write_new_file(path, text, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

Result<TrustedKeys> load_trusted_keys(const std::filesystem::path& file_or_folder) {
  KeyFiles files{{file_or_folder}, {}};
  std::error_code ignored;
  if (std::filesystem::is_directory(file_or_folder, ignored)) {
    MODELD_ASSIGN(files, public_key_files(file_or_folder));
  }
  TrustedKeys trusted;
  MODELD_ASSIGN(trusted.keys, load_public_keys(files.trusted));
  MODELD_ASSIGN(trusted.revoked, load_public_keys(files.revoked));
  std::erase_if(trusted.keys, [&](const PublicKey& key) {
    return std::find(trusted.revoked.begin(), trusted.revoked.end(), key) != trusted.revoked.end();
  });
  return trusted;
}

Result<bool> verify_signature(const PublicKey& key, const Signature& signature,
                              std::span<const std::byte> message) {
  const KeyPtr evp(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const DigestPtr context(EVP_MD_CTX_new());
  if (evp == nullptr || context == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, evp.get()) != 1) {
    return crypto_error("verifying a signature");
  }
  const int answer =
      EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                       reinterpret_cast<const unsigned char*>(message.data()), message.size());
  ERR_clear_error();
  return answer == 1;
}

std::string key_id(const PublicKey& key) {
  constexpr size_t kShownBytes = 8;
  const Sha256 hash = sha256(std::as_bytes(std::span(key)));
  return "ed25519:" + to_hex(std::span(hash).first(kShownBytes));
}

}  // namespace modeld
