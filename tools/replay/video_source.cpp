#include "tools/replay/video_source.h"

#include <string>
#include <utility>

#include "tools/replay/libav.h"
#include "tools/replay/yuv_picture.h"

namespace modeld::replay {
namespace {

// Decoding may use the cores that the model leaves free.
constexpr int kThreads = 2;

struct InputDelete {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
};

bool readable(int format) {
  return format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_NV12;
}

YuvPicture view(const AVFrame& frame) {
  YuvPicture picture;
  picture.width = static_cast<uint32_t>(frame.width);
  picture.height = static_cast<uint32_t>(frame.height);
  picture.y = frame.data[0];
  picture.u = frame.data[1];
  picture.y_stride = frame.linesize[0];
  picture.u_stride = frame.linesize[1];
  if (frame.format != AV_PIX_FMT_NV12) {
    picture.v = frame.data[2];
    picture.v_stride = frame.linesize[2];
  }
  return picture;
}

}  // namespace

struct VideoSource::Decoder {
  std::unique_ptr<AVFormatContext, InputDelete> input;
  CodecPtr codec;
  PacketPtr packet;
  FramePtr frame;
  int stream = -1;
  int64_t packets = 0;  // handed to the decoder
  int64_t shown = 0;    // pictures it gave
  int64_t held = -1;    // number of the picture in `frame`; -1: none
  bool draining = false;
  bool ended = false;

  Status open(const std::filesystem::path& path);
  // Brings the next picture into `frame`, or sets `ended`.
  Status next();
  Status feed();
};

Status VideoSource::Decoder::open(const std::filesystem::path& path) {
  av_log_set_level(AV_LOG_QUIET);  // damage is reported by number, not on somebody's terminal
  AVFormatContext* context = nullptr;
  int result = avformat_open_input(&context, path.c_str(), nullptr, nullptr);
  if (result < 0) return libav_error(ErrorCode::kCorrupt, "no video", result);
  input.reset(context);
  result = avformat_find_stream_info(context, nullptr);
  if (result < 0) return libav_error(ErrorCode::kCorrupt, "no video", result);
  const AVCodec* decoder = nullptr;
  stream = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (stream < 0) return libav_error(ErrorCode::kCorrupt, "no video stream", stream);
  codec.reset(avcodec_alloc_context3(decoder));
  packet.reset(av_packet_alloc());
  frame.reset(av_frame_alloc());
  if (!codec || !packet || !frame) return Error(ErrorCode::kExhausted, "libav: no memory");
  result = avcodec_parameters_to_context(codec.get(), context->streams[stream]->codecpar);
  if (result < 0) return libav_error(ErrorCode::kCorrupt, "video parameters", result);
  codec->thread_count = kThreads;
  result = avcodec_open2(codec.get(), decoder, nullptr);
  if (result < 0) return libav_error(ErrorCode::kUnsupported, "video decoder", result);
  MODELD_TRY(next());
  if (ended) return Error(ErrorCode::kCorrupt, "no picture of the video decodes");
  if (frame->width <= 0 || frame->height <= 0 || frame->width > static_cast<int>(kMaxNv12Side) ||
      frame->height > static_cast<int>(kMaxNv12Side)) {
    return Error(ErrorCode::kUnsupported, "video of an impossible size");
  }
  if (!readable(frame->format)) {
    return Error(ErrorCode::kUnsupported, "pixel format of the video")
        .expecting("yuv420p or nv12", std::to_string(frame->format));
  }
  return {};
}

// One packet of our stream, or the news that there is none.
Status VideoSource::Decoder::feed() {
  while (true) {
    const int result = av_read_frame(input.get(), packet.get());
    if (result < 0) {  // the end, or a file that breaks off: nothing follows either way
      draining = true;
      avcodec_send_packet(codec.get(), nullptr);
      return {};
    }
    if (packet->stream_index != stream) {
      av_packet_unref(packet.get());
      continue;
    }
    packet->pts = packet->dts = packets++;
    const int sent = avcodec_send_packet(codec.get(), packet.get());
    av_packet_unref(packet.get());
    if (sent == AVERROR(ENOMEM)) return libav_error(ErrorCode::kExhausted, "decoding", sent);
    // Anything else is one broken packet: the next may be good.
    return {};
  }
}

Status VideoSource::Decoder::next() {
  held = -1;
  while (!ended) {
    const int result = avcodec_receive_frame(codec.get(), frame.get());
    if (result == 0) {
      const bool in_order = codec->has_b_frames == 0;
      held = in_order && frame->pts != AV_NOPTS_VALUE ? frame->pts : shown;
      ++shown;
      const bool broken =
          (frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0;
      if (!broken) return {};
      continue;
    }
    if (result == AVERROR(EAGAIN) && !draining) {
      MODELD_TRY(feed());
    } else if (result == AVERROR_EOF || draining) {
      ended = true;
      held = -1;
    }
    // Anything else: a picture that does not decode; the one behind it may.
  }
  return {};
}

VideoSource::VideoSource(std::unique_ptr<Decoder> decoder) : decoder_(std::move(decoder)) {}
VideoSource::~VideoSource() = default;

Result<std::unique_ptr<PictureSource>> VideoSource::open(const std::filesystem::path& path) {
  auto decoder = std::make_unique<Decoder>();
  const Status opened = decoder->open(path);
  if (!opened.ok()) return Error(opened.error()).in(path.string());
  std::unique_ptr<VideoSource> source(new VideoSource(std::move(decoder)));
  return std::unique_ptr<PictureSource>(std::move(source));
}

FrameSize VideoSource::size() const {
  return {static_cast<uint32_t>(decoder_->codec->width),
          static_cast<uint32_t>(decoder_->codec->height)};
}

Result<PictureRead> VideoSource::read(uint32_t index, const Nv12Layout& layout,
                                      std::span<std::byte> frame) {
  while (!decoder_->ended && decoder_->held < static_cast<int64_t>(index)) {
    MODELD_TRY(decoder_->next());
  }
  if (decoder_->ended && static_cast<int64_t>(index) >= decoder_->packets) {
    why_ = "the video ends after " + std::to_string(decoder_->packets) + " pictures";
    return PictureRead::kMissing;
  }
  if (decoder_->held != static_cast<int64_t>(index)) {
    why_ = "picture " + std::to_string(index) + " does not decode";
    return PictureRead::kBroken;
  }
  MODELD_TRY(write_nv12(view(*decoder_->frame), layout, frame));
  return PictureRead::kRead;
}

}  // namespace modeld::replay
