// libtorch has gloo inside and ships the header of its process group, but none of gloo's own. The files of this folder say as much
// of them as that header needs to be read; nothing here is called or derived from.
#pragma once
