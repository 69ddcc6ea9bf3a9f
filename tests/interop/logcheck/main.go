// Command logcheck reads a ledger's folder as a tiled log and verifies it with golang.org/x/mod/sumdb/{note,tlog}.
//
// Usage: logcheck LEDGER VERIFIER_KEY PROOFS OLDER_CHECKPOINT...
//
// PROOFS is a JSON file with proofs that somebody else computed, or empty. It prints one JSON object with what was checked, or
// says on standard error what is wrong and exits 1.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// tally counts what was checked.
type tally struct {
	Size        int64
	Entries     int64
	Bundles     int
	Tiles       int
	Inclusion   int
	Consistency int
}

// proofs are those that are to be checked.
type proofs struct {
	Inclusion []struct {
		Index  int64
		Hashes []tlog.Hash
	}
	Consistency []struct {
		Older  int64
		Hashes []tlog.Hash
	}
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: logcheck LEDGER VERIFIER_KEY PROOFS OLDER_CHECKPOINT...")
		os.Exit(2)
	}
	checked, err := check(os.Args[1], os.Args[2], os.Args[3], os.Args[4:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(checked)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
}

func check(folder, verifierKey, proofFile string, older []string) (*tally, error) {
	key, err := note.NewVerifier(verifierKey)
	if err != nil {
		return nil, err
	}
	head, err := openCheckpoint(folder+"/checkpoint", key)
	if err != nil {
		return nil, err
	}
	log := &tiledLog{folder: folder, head: head}
	checked := &tally{Size: head.N}
	if err := log.checkEntries(checked); err != nil {
		return nil, err
	}
	if err := log.checkFiles(checked); err != nil {
		return nil, err
	}
	if err := log.checkOwnProofs(checked); err != nil {
		return nil, err
	}
	for _, file := range older {
		old, err := openCheckpoint(file, key)
		if err != nil {
			return nil, err
		}
		if err := log.checkExtends(old, checked); err != nil {
			return nil, err
		}
	}
	return checked, log.checkGivenProofs(proofFile, checked)
}

// checkOwnProofs makes proofs out of the ledger's tiles and checks them against the signed root. The indices are
// where bundles and subtrees begin and end.
func (log *tiledLog) checkOwnProofs(checked *tally) error {
	tiles := tlog.TileHashReader(log.head, log)
	seen := make(map[int64]bool)
	for _, index := range []int64{0, 1, 254, 255, 256, 257, log.head.N / 2, log.head.N - 2, log.head.N - 1} {
		if index < 0 || index >= log.head.N || seen[index] {
			continue
		}
		seen[index] = true
		proof, err := tlog.ProveRecord(log.head.N, index, tiles)
		if err != nil {
			return fmt.Errorf("inclusion of %d: %w", index, err)
		}
		if err := tlog.CheckRecord(proof, log.head.N, log.head.Hash, index, log.records[index]); err != nil {
			return fmt.Errorf("inclusion of %d: %w", index, err)
		}
		checked.Inclusion++
	}
	return nil
}

// checkExtends proves out of the ledger's tiles that an older signed tree is the beginning of this one.
func (log *tiledLog) checkExtends(old tlog.Tree, checked *tally) error {
	proof, err := tlog.ProveTree(log.head.N, old.N, tlog.TileHashReader(log.head, log))
	if err != nil {
		return fmt.Errorf("consistency with %d: %w", old.N, err)
	}
	if err := tlog.CheckTree(proof, log.head.N, log.head.Hash, old.N, old.Hash); err != nil {
		return fmt.Errorf("consistency with %d: %w", old.N, err)
	}
	checked.Consistency++
	return nil
}

// checkGivenProofs checks proofs that somebody else computed, the roots of older trees being computed here.
func (log *tiledLog) checkGivenProofs(file string, checked *tally) error {
	data, err := os.ReadFile(file)
	if err != nil || len(data) == 0 {
		return err
	}
	var given proofs
	if err := json.Unmarshal(data, &given); err != nil {
		return err
	}
	for _, proof := range given.Inclusion {
		if proof.Index < 0 || proof.Index >= log.head.N {
			return fmt.Errorf("no entry %d", proof.Index)
		}
		record := log.records[proof.Index]
		if err := tlog.CheckRecord(proof.Hashes, log.head.N, log.head.Hash, proof.Index, record); err != nil {
			return fmt.Errorf("given inclusion of %d: %w", proof.Index, err)
		}
		checked.Inclusion++
	}
	for _, proof := range given.Consistency {
		root, err := tlog.TreeHash(proof.Older, log.stored)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof.Hashes, log.head.N, log.head.Hash, proof.Older, root); err != nil {
			return fmt.Errorf("given consistency with %d: %w", proof.Older, err)
		}
		checked.Consistency++
	}
	return nil
}
