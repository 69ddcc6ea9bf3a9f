/* What an append of one receipt writes and makes durable, and nothing else: no argument, no check, no signature. How long
   this takes, as a whole process, is what no append in this format can be faster than. Run by benches/peers.py in a folder
   that holds what it needs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void sync_folder_or_file(const char *path) {
    int file = open(path, O_RDONLY);
    must(file >= 0 && fsync(file) == 0 && close(file) == 0, path);
}

static void write_file(const char *path, const char *bytes, ssize_t length, int durable) {
    int file = open("staging/tmp", O_WRONLY | O_CREAT | O_EXCL, 0666);
    must(file >= 0 && write(file, bytes, length) == length, path);
    must(!durable || fsync(file) == 0, path);
    must(close(file) == 0 && rename("staging/tmp", path) == 0, path);
}

int main(void) {
    static char bytes[1 << 20];
    int bundle = open("bundle", O_RDONLY);
    ssize_t length = bundle < 0 ? -1 : read(bundle, bytes, sizeof bytes);
    must(length > 0, "bundle");
    sync_folder_or_file("evidence/file");
    sync_folder_or_file("evidence");
    write_file("staging/bundle", bytes, length, 1);
    sync_folder_or_file("staging");
    int cell = open("cell", O_WRONLY);
    must(cell >= 0 && pwrite(cell, bytes, 251, 0) == 251 && fdatasync(cell) == 0, "cell");
    must(rename("staging/bundle", "entries") == 0, "entries");
    write_file("tile", bytes, 32 * 128, 0);
    write_file("checkpoint", bytes, 199, 0);
    write_file("ratchet", bytes, 199, 0);
    return 0;
}
