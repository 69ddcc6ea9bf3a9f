package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// storedHashes are all hashes of a tree in tlog's own order, computed from the entries.
type storedHashes []tlog.Hash

func (stored storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(stored)) {
			return nil, fmt.Errorf("no stored hash %d", index)
		}
		found[i] = stored[index]
	}
	return found, nil
}

// tiledLog is a ledger's folder under one signed tree head.
type tiledLog struct {
	folder string
	head   tlog.Tree
	// What the entries themselves add up to.
	entries [][]byte
	records []tlog.Hash
	stored  storedHashes
}

// openCheckpoint verifies a checkpoint's signature and reads its three lines. tlog.ParseTree does not serve: it knows
// the origin of Go's own database only.
func openCheckpoint(file string, key note.Verifier) (tlog.Tree, error) {
	var none tlog.Tree
	data, err := os.ReadFile(file)
	if err != nil {
		return none, err
	}
	opened, err := note.Open(data, note.VerifierList(key))
	if err != nil {
		return none, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != key.Name() {
		return none, errors.New("the checkpoint is not origin, size and root")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 1 || strconv.FormatInt(size, 10) != lines[1] {
		return none, fmt.Errorf("the checkpoint's size is %q", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

// coordinates are a tile's path behind the name of its shelf: tlog writes tile/8/L/N, a tiled log tile/L/N.
func coordinates(index int64, width int) string {
	path := tlog.Tile{H: tileHeight, L: 0, N: index, W: width}.Path()
	return strings.TrimPrefix(path, "tile/8/0/")
}

func hashPath(tile tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(tile.Path(), "tile/8/")
}

// widthAt is how wide the tile of a level is in a tree of that many leaves; 0 where there is none.
func widthAt(size int64, level int, index int64) int {
	width := size>>(tileHeight*level) - index*tileWidth
	if width > tileWidth {
		return tileWidth
	}
	if width < 0 {
		return 0
	}
	return int(width)
}

// checkEntries reads every entry, hashes it, and demands that all of them add up to the signed root.
func (log *tiledLog) checkEntries(checked *tally) error {
	for index := int64(0); index*tileWidth < log.head.N; index++ {
		width := widthAt(log.head.N, 0, index)
		name := "tile/entries/" + coordinates(index, width)
		entries, err := log.readBundle(name, width)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := log.push(entry); err != nil {
				return err
			}
		}
	}
	checked.Entries = int64(len(log.entries))
	root, err := tlog.TreeHash(log.head.N, log.stored)
	if err != nil {
		return err
	}
	if root != log.head.Hash {
		return fmt.Errorf("the entries add up to %v, the checkpoint says %v", root, log.head.Hash)
	}
	return nil
}

func (log *tiledLog) push(entry []byte) error {
	record := tlog.RecordHash(entry)
	hashes, err := tlog.StoredHashesForRecordHash(int64(len(log.records)), record, log.stored)
	log.entries = append(log.entries, entry)
	log.records = append(log.records, record)
	log.stored = append(log.stored, hashes...)
	return err
}

// readBundle reads entries, each behind its length in two bytes.
func (log *tiledLog) readBundle(name string, width int) ([][]byte, error) {
	data, err := os.ReadFile(filepath.Join(log.folder, name))
	if err != nil {
		return nil, err
	}
	var entries [][]byte
	for len(data) > 0 {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			return nil, fmt.Errorf("%s is cut short", name)
		}
		end := 2 + int(binary.BigEndian.Uint16(data))
		entries = append(entries, data[2:end])
		data = data[end:]
	}
	if len(entries) != width {
		return nil, fmt.Errorf("%s has %d entries instead of %d", name, len(entries), width)
	}
	return entries, nil
}

// checkFiles demands every tile that the tree has, and compares every file below tile/ with what the entries give,
// those of older checkpoints too. (tlog.NewTiles names tiles that a tiled log need not keep.)
func (log *tiledLog) checkFiles(checked *tally) error {
	for level := 0; log.head.N>>(tileHeight*level) > 0; level++ {
		for index := int64(0); ; index++ {
			width := widthAt(log.head.N, level, index)
			if width == 0 {
				break
			}
			tile := tlog.Tile{H: tileHeight, L: level, N: index, W: width}
			if _, err := os.Stat(filepath.Join(log.folder, hashPath(tile))); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(filepath.Join(log.folder, "tile"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(log.folder, path)
		if err != nil {
			return err
		}
		return log.checkFile(filepath.ToSlash(name), checked)
	})
}

func (log *tiledLog) checkFile(name string, checked *tally) error {
	if rest := strings.TrimPrefix(name, "tile/entries/"); rest != name {
		tile, err := log.parse("tile/8/0/"+rest, name)
		if err != nil {
			return err
		}
		checked.Bundles++
		return log.checkBundle(name, tile)
	}
	tile, err := log.parse("tile/8/"+strings.TrimPrefix(name, "tile/"), name)
	if err != nil {
		return err
	}
	checked.Tiles++
	wanted, err := tlog.ReadTileData(tile, log.stored)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	found, err := os.ReadFile(filepath.Join(log.folder, name))
	if err != nil {
		return err
	}
	if !bytes.Equal(found, wanted) {
		return fmt.Errorf("%s is not what the entries give", name)
	}
	return nil
}

func (log *tiledLog) parse(path, name string) (tlog.Tile, error) {
	tile, err := tlog.ParseTilePath(path)
	if err != nil {
		return tile, fmt.Errorf("%s is not the path of a tile: %w", name, err)
	}
	if tile.W > widthAt(log.head.N, tile.L, tile.N) {
		return tile, fmt.Errorf("%s goes beyond the checkpoint", name)
	}
	return tile, nil
}

func (log *tiledLog) checkBundle(name string, tile tlog.Tile) error {
	entries, err := log.readBundle(name, tile.W)
	if err != nil {
		return err
	}
	first := tile.N * tileWidth
	for i, entry := range entries {
		if !bytes.Equal(entry, log.entries[first+int64(i)]) {
			return fmt.Errorf("%s has another entry %d", name, first+int64(i))
		}
	}
	return nil
}

// Height, ReadTiles and SaveTiles let tlog fetch and authenticate the ledger's tiles by itself.
func (log *tiledLog) Height() int { return tileHeight }

func (log *tiledLog) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(tiles))
	for i, tile := range tiles {
		data, err := os.ReadFile(filepath.Join(log.folder, hashPath(tile)))
		if err != nil {
			return nil, err
		}
		read[i] = data
	}
	return read, nil
}

func (log *tiledLog) SaveTiles([]tlog.Tile, [][]byte) {}
