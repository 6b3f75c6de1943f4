#include "hocket/report/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hocket/report/diff.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Nanoseconds us(double value) { return Nanoseconds::from_ns(value * 1000); }

ShownSpan span(std::string name, SpanKind kind, double begin, double end, double stood = 0) {
  ShownSpan made;
  made.name = std::move(name);
  made.kind = kind;
  made.lane = kind == SpanKind::collective ? 1 : 0;
  made.begin = us(begin);
  made.end = us(end);
  made.stood = us(stood);
  return made;
}

// 4 µs of computing, 2 of waiting, 2 of computing; the gather runs for the first 6.
ShownTimeline timeline_of_eight() {
  ShownTimeline line;
  line.lanes = {"compute", "dp"};
  line.spans = {span("gather", SpanKind::collective, 0, 6), span("a", SpanKind::compute, 0, 4),
                span("wait", SpanKind::wait, 6, 6, 2), span("b", SpanKind::compute, 6, 8)};
  ShownCollective& gather = line.collectives.emplace_back();
  gather.span = 0;
  gather.wait = 2;
  gather.kind = "all_gather";
  gather.exposed = us(2);
  line.memory = {{us(0), Bytes(512)}, {us(4), Bytes(1024)}};
  line.peak = Bytes(1024);
  line.step_time = us(8);
  line.exposed = us(2);
  line.communication = us(6);
  return line;
}

TEST(Picture, shows_what_is_computed_what_is_waited_for_and_what_is_held) {
  const std::string picture = overlap_picture(timeline_of_eight(), {.width = 7 + 3 + 32});
  EXPECT_THAT(picture, HasSubstr("compute ████████████████        ████████│"));
  EXPECT_THAT(picture, HasSubstr("exposed                 ████████        │"));
  EXPECT_THAT(picture, HasSubstr("dp      GGGGGGGGGGGGGGGGGGGGGGGG        │"));
  EXPECT_THAT(picture, HasSubstr("memory  ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄████████████████│"));
}

TEST(Picture, has_escape_sequences_only_where_colours_are_wanted) {
  EXPECT_EQ(overlap_picture(timeline_of_eight(), {}).find('\x1b'), std::string::npos);
  EXPECT_THAT(overlap_picture(timeline_of_eight(), {.colour = true}), HasSubstr("\x1b[31m"));
}

TEST(Picture, of_nothing_is_empty_rows) {
  ShownTimeline line;
  line.lanes = {"compute"};
  EXPECT_THAT(overlap_picture(line, {.width = 1}), HasSubstr("compute"));
}

TEST(Diff, finds_the_fewest_steps_that_moved) {
  const ShownTimeline before = timeline_of_eight();
  ShownTimeline after = before;
  std::rotate(after.spans.begin() + 1, after.spans.begin() + 3, after.spans.end());  // gather, b, a, wait
  after.collectives[0].wait = 3;
  const TimelineDiff diff = diff_timelines(before, after);
  EXPECT_THAT(diff.moved, ElementsAre("b"));
  EXPECT_THAT(diff.gone, IsEmpty());
  EXPECT_TRUE(diff_timelines(before, before).same_order());
}

TEST(Diff, tells_what_is_new_and_what_is_gone) {
  const ShownTimeline before = timeline_of_eight();
  ShownTimeline after = before;
  after.spans[0].name = "bucket";
  const TimelineDiff diff = diff_timelines(before, after);
  EXPECT_THAT(diff.collectives_gone, ElementsAre("gather"));
  EXPECT_THAT(diff.collectives_added, ElementsAre("bucket"));
  EXPECT_THAT(in_words(diff), HasSubstr("collectives added"));
}

}  // namespace
}  // namespace hocket
