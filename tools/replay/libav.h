// libav's C interface with owners. Heavy and foreign: include it in .cpp files only.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
}

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace modeld::replay {

struct LibavDelete {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
};
using PacketPtr = std::unique_ptr<AVPacket, LibavDelete>;
using FramePtr = std::unique_ptr<AVFrame, LibavDelete>;
using CodecPtr = std::unique_ptr<AVCodecContext, LibavDelete>;

// `what` with libav's text for the number.
inline Error libav_error(ErrorCode code, std::string_view what, int number) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(number, text, sizeof text);
  return Error(code, std::string(what) + ": " + text);
}

}  // namespace modeld::replay
