#include "tools/replay/video_writer.h"

#include <libyuv/convert.h>

#include <utility>

#include "tools/replay/libav.h"

namespace modeld::replay {
namespace {

constexpr int kRate = 20;  // pictures per second

struct OutputDelete {
  void operator()(AVFormatContext* context) const {
    if (context->pb != nullptr) avio_closep(&context->pb);
    avformat_free_context(context);
  }
};

}  // namespace

struct VideoWriter::Encoder {
  VideoFormat format;
  std::unique_ptr<AVFormatContext, OutputDelete> output;
  CodecPtr codec;
  PacketPtr packet;
  FramePtr frame;
  AVStream* stream = nullptr;
  int64_t pictures = 0;

  Status open(const std::filesystem::path& path);
  Status open_codec();
  // Null: nothing follows.
  Status encode(const AVFrame* picture);
};

VideoFormat lossless_ffv1(uint32_t width, uint32_t height) {
  return {"ffv1", {{"level", "3"}, {"slices", "4"}, {"g", "1"}, {"coder", "0"}}, width, height};
}

VideoFormat lossless_hevc(uint32_t width, uint32_t height) {
  return {"libx265",
          {{"preset", "ultrafast"},
           {"x265-params", "lossless=1:bframes=0:keyint=20:log-level=none:frame-threads=1"}},
          width,
          height};
}

Status VideoWriter::Encoder::open_codec() {
  const AVCodec* const encoder = avcodec_find_encoder_by_name(format.encoder.c_str());
  if (encoder == nullptr) {
    return Error(ErrorCode::kUnsupported, "this libav has no encoder " + format.encoder);
  }
  codec.reset(avcodec_alloc_context3(encoder));
  packet.reset(av_packet_alloc());
  frame.reset(av_frame_alloc());
  if (!codec || !packet || !frame) return Error(ErrorCode::kExhausted, "libav: no memory");
  codec->width = static_cast<int>(format.width);
  codec->height = static_cast<int>(format.height);
  codec->pix_fmt = AV_PIX_FMT_YUV420P;
  codec->time_base = {1, kRate};
  codec->framerate = {kRate, 1};
  codec->max_b_frames = 0;
  codec->flags |= AV_CODEC_FLAG_BITEXACT;
  if ((output->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
    codec->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  }
  for (const auto& [name, value] : format.options) {
    const int set = av_opt_set(codec.get(), name.c_str(), value.c_str(), AV_OPT_SEARCH_CHILDREN);
    if (set < 0) return libav_error(ErrorCode::kInvalidArgument, "encoder option " + name, set);
  }
  const int opened = avcodec_open2(codec.get(), encoder, nullptr);
  if (opened < 0) return libav_error(ErrorCode::kUnsupported, "video encoder", opened);
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = codec->width;
  frame->height = codec->height;
  const int got = av_frame_get_buffer(frame.get(), 0);
  if (got < 0) return libav_error(ErrorCode::kExhausted, "picture buffer", got);
  return {};
}

Status VideoWriter::Encoder::open(const std::filesystem::path& path) {
  av_log_set_level(AV_LOG_QUIET);
  AVFormatContext* context = nullptr;
  int result = avformat_alloc_output_context2(&context, nullptr, nullptr, path.c_str());
  if (result < 0) return libav_error(ErrorCode::kInvalidArgument, "video container", result);
  output.reset(context);
  context->flags |= AVFMT_FLAG_BITEXACT;
  MODELD_TRY(open_codec());
  stream = avformat_new_stream(context, nullptr);
  if (stream == nullptr) return Error(ErrorCode::kExhausted, "libav: no memory");
  stream->time_base = codec->time_base;
  avcodec_parameters_from_context(stream->codecpar, codec.get());
  result = avio_open(&context->pb, path.c_str(), AVIO_FLAG_WRITE);
  if (result < 0) return libav_error(ErrorCode::kIo, "opening the video", result);
  result = avformat_write_header(context, nullptr);
  if (result < 0) return libav_error(ErrorCode::kIo, "writing the video", result);
  return {};
}

Status VideoWriter::Encoder::encode(const AVFrame* picture) {
  int result = avcodec_send_frame(codec.get(), picture);
  if (result < 0) return libav_error(ErrorCode::kInternal, "encoding", result);
  while (true) {
    result = avcodec_receive_packet(codec.get(), packet.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return {};
    if (result < 0) return libav_error(ErrorCode::kInternal, "encoding", result);
    av_packet_rescale_ts(packet.get(), codec->time_base, stream->time_base);
    packet->stream_index = stream->index;
    result = av_interleaved_write_frame(output.get(), packet.get());
    if (result < 0) return libav_error(ErrorCode::kIo, "writing the video", result);
  }
}

VideoWriter::VideoWriter(std::unique_ptr<Encoder> encoder) : encoder_(std::move(encoder)) {}
VideoWriter::~VideoWriter() = default;

Result<std::unique_ptr<VideoWriter>> VideoWriter::create(const std::filesystem::path& path,
                                                         const VideoFormat& format) {
  auto encoder = std::make_unique<Encoder>();
  encoder->format = format;
  const Status opened = encoder->open(path);
  if (!opened.ok()) return Error(opened.error()).in(path.string());
  return std::unique_ptr<VideoWriter>(new VideoWriter(std::move(encoder)));
}

Status VideoWriter::add(const YuvPicture& picture) {
  const VideoFormat& format = encoder_->format;
  if (picture.width != format.width || picture.height != format.height) {
    return Error(ErrorCode::kInvalidArgument, "picture of another size than the video")
        .expecting(std::to_string(format.width) + "x" + std::to_string(format.height),
                   std::to_string(picture.width) + "x" + std::to_string(picture.height));
  }
  AVFrame& frame = *encoder_->frame;
  const int writable = av_frame_make_writable(&frame);
  if (writable < 0) return libav_error(ErrorCode::kExhausted, "picture buffer", writable);
  const int width = static_cast<int>(format.width);
  const int height = static_cast<int>(format.height);
  if (picture.v == nullptr) {
    libyuv::NV12ToI420(picture.y, picture.y_stride, picture.u, picture.u_stride, frame.data[0],
                       frame.linesize[0], frame.data[1], frame.linesize[1], frame.data[2],
                       frame.linesize[2], width, height);
  } else {
    libyuv::I420Copy(picture.y, picture.y_stride, picture.u, picture.u_stride, picture.v,
                     picture.v_stride, frame.data[0], frame.linesize[0], frame.data[1],
                     frame.linesize[1], frame.data[2], frame.linesize[2], width, height);
  }
  frame.pts = encoder_->pictures++;
  return encoder_->encode(&frame);
}

Status VideoWriter::finish() {
  MODELD_TRY(encoder_->encode(nullptr));
  const int result = av_write_trailer(encoder_->output.get());
  if (result < 0) return libav_error(ErrorCode::kIo, "ending the video", result);
  return {};
}

}  // namespace modeld::replay
