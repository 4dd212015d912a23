package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"time"
)

// pack writes files as a tar, below a directory, with the directories that they are in.
func pack(below string, files []file, at time.Time) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	header := func(h tar.Header) {
		h.ModTime, h.Format, h.Uname, h.Gname = at, tar.FormatUSTAR, "root", "root"
		must(w.WriteHeader(&h))
	}
	made := map[string]bool{".": true, "": true}
	var mkdir func(dir string)
	mkdir = func(dir string) {
		if !made[dir] {
			mkdir(path.Dir(dir))
			made[dir] = true
			header(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
		}
	}
	for _, f := range files {
		name := path.Join(below, f.path)
		mkdir(path.Dir(name))
		header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: f.mode, Size: int64(len(f.text))})
		got(w.Write(f.text))
	}
	must(w.Close())
	return out.Bytes()
}

// archive is a compressed tar.
func archive(below string, files []file, at time.Time) []byte {
	return compress(pack(below, files, at))
}

// compress compresses without a name or a time.
func compress(text []byte) []byte {
	var out bytes.Buffer
	w := got(gzip.NewWriterLevel(&out, gzip.BestCompression))
	got(w.Write(text))
	must(w.Close())
	return out.Bytes()
}

// platform is one of the programs of an image.
type platform struct {
	arch  string
	gorun file
}

// descriptor refers to a blob of an image (OCI image specification 1.1, descriptor.md).
type descriptor struct {
	MediaType string            `json:"mediaType"`
	Digest    string            `json:"digest"`
	Size      int               `json:"size"`
	Platform  map[string]string `json:"platform,omitempty"`
	Notes     map[string]string `json:"annotations,omitempty"`
}

const mediaType = "application/vnd.oci.image."

// image returns an image layout (OCI image specification 1.1, image-layout.md) as a tar: gorun alone, which runs as nobody.
func image(r release, platforms []platform) []byte {
	var blobs []file
	blob := func(kind string, text []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		blobs = append(blobs, file{"blobs/sha256/" + sum, 0o644, text})
		return descriptor{MediaType: mediaType + kind, Digest: "sha256:" + sum, Size: len(text)}
	}
	marshal := func(v any) []byte { return got(json.Marshal(v)) }
	var manifests []descriptor
	for _, p := range platforms {
		layer := pack("", []file{
			{"etc/passwd", 0o644, []byte("nobody:x:65534:65534:nobody:/:/sbin/nologin\n")},
			{"etc/group", 0o644, []byte("nogroup:x:65534:\n")},
			{"usr/bin/gorun", 0o755, p.gorun.text},
		}, r.time)
		where := map[string]string{"architecture": p.arch, "os": "linux"}
		config := blob("config.v1+json", marshal(map[string]any{
			"architecture": p.arch, "os": "linux", "created": r.time.Format(time.RFC3339),
			"config": map[string]any{
				"User": "65534:65534", "Entrypoint": []string{"/usr/bin/gorun"}, "Env": []string{"PATH=/usr/bin:/bin"},
				"Labels": map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit},
			},
			"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		}))
		manifest := blob("manifest.v1+json", marshal(map[string]any{
			"schemaVersion": 2, "mediaType": mediaType + "manifest.v1+json", "config": config,
			"layers": []descriptor{blob("layer.v1.tar+gzip", compress(layer))},
		}))
		manifest.Platform = where
		manifests = append(manifests, manifest)
	}
	index := blob("index.v1+json", marshal(map[string]any{
		"schemaVersion": 2, "mediaType": mediaType + "index.v1+json", "manifests": manifests,
	}))
	index.Notes = map[string]string{"org.opencontainers.image.ref.name": r.version}
	return pack("", append([]file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{index}})},
	}, blobs...), r.time)
}
