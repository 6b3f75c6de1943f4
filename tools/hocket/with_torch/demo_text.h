// What the demo's model learns to continue. Written for this project.
#pragma once

#include <string_view>

namespace hocket::tool {

inline constexpr std::string_view demo_text =
    "A hocket is one melody for two singers who breathe in turn. When the first one sings, the second one rests, and "
    "when the\n"
    "first one rests, the second one sings, so that nobody hears a gap. The trick is very old. Singers of the "
    "thirteenth century\n"
    "knew it, players of panpipes in the Andes knew it, and so did the herdsmen who blew their horns from hill to "
    "hill. None of\n"
    "them had the whole tune, and together they never missed a note.\n"
    "\n"
    "Machines that train a model together are in the same place. Each of them holds a part of the work. One part of "
    "the time\n"
    "they compute, the other part they tell each other what they have found, and a machine that only waits for the "
    "others is a\n"
    "singer who rests while nobody sings. The art is to let one voice fill the rests of the other: while the numbers "
    "of the last\n"
    "layer travel, the numbers of the layer before it are computed, and when they are computed, the first ones have "
    "arrived.\n"
    "\n"
    "To do that by hand is hard, because a step has thousands of small parts, and because a part that starts too early "
    "needs\n"
    "room for its results that something else would have used. It is a task for a compiler. A program says what is to "
    "be sent,\n"
    "the compiler decides when, and all machines decide the same, since a choir in which everyone has another score "
    "falls silent\n"
    "at the first bar. A compiler has patience. It moves one note, counts the rests, moves the next one, and it never "
    "gets tired\n"
    "of counting. It writes down why a rest is still there: the note before it was long, or the singer had no breath "
    "left.\n"
    "\n"
    "What comes out sounds like one voice. The listeners do not know who sings which note, and they need not know. "
    "They hear\n"
    "a melody that goes on, and the singers, who breathe half of the time, can go on for a long while.\n";

}  // namespace hocket::tool
