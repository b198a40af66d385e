//go:build !purego

package asm

// panelsAVX2 sets the products with panels of weights.
func panelsAVX2(k *Kernels) {
	k.replacePanels(
		singlePanelsOf(layoutQ4_0, 8, []blockTile{{8, q4_0AVX2x8}, {4, q4_0AVX2x4}, {2, q4_0AVX2x2}, {1, q4_0AVX2x1}}, q4_0AVX2x1x4),
		singlePanelsOf(layoutQ4_1, 8, []blockTile{{8, q4_1AVX2x8}, {4, q4_1AVX2x4}, {2, q4_1AVX2x2}, {1, q4_1AVX2x1}}, q4_1AVX2x1x4),
		singlePanelsOf(layoutQ8_0, 8, []blockTile{{8, q8_0AVX2x8}, {4, q8_0AVX2x4}, {2, q8_0AVX2x2}, {1, q8_0AVX2x1}}, q8_0AVX2x1x4),
		singlePanelsOf(layoutQ4_K, 8, []blockTile{{8, q4_KAVX2x8}, {4, q4_KAVX2x4}, {2, q4_KAVX2x2}, {1, q4_KAVX2x1}}, q4_KAVX2x1x4),
		singlePanelsOf(layoutQ5_K, 8, []blockTile{{8, q5_KAVX2x8}, {4, q5_KAVX2x4}, {2, q5_KAVX2x2}, {1, q5_KAVX2x1}}, q5_KAVX2x1x4),
		singlePanelsOf(layoutQ6_K, 8, []blockTile{{8, q6_KAVX2x8}, {4, q6_KAVX2x4}, {2, q6_KAVX2x2}, {1, q6_KAVX2x1}}, q6_KAVX2x1x4),
		floatPanelsOf(layoutF32, []floatTile{{6, f32AVX2x6}, {4, f32AVX2x4}, {2, f32AVX2x2}, {1, f32AVX2x1}}, inParts(layoutF32, f32AVX2x1x4)),
		floatPanelsOf(layoutF16, []floatTile{{6, f16AVX2x6}, {4, f16AVX2x4}, {2, f16AVX2x2}, {1, f16AVX2x1}}, inParts(layoutF16, f16AVX2x1x4)),
		floatPanelsOf(layoutBF16, []floatTile{{6, bf16AVX2x6}, {4, bf16AVX2x4}, {2, bf16AVX2x2}, {1, bf16AVX2x1}}, inParts(layoutBF16, bf16AVX2x1x4)),
	)
}

// panelsAVXVNNI sets the products with panels of weights.
func panelsAVXVNNI(k *Kernels) {
	k.replacePanels(
		singlePanelsOf(layoutQ4_0, 8, []blockTile{{8, q4_0AVXVNNIx8}, {4, q4_0AVXVNNIx4}, {2, q4_0AVXVNNIx2}, {1, q4_0AVXVNNIx1}}, q4_0AVXVNNIx1x4),
		singlePanelsOf(layoutQ4_1, 8, []blockTile{{8, q4_1AVXVNNIx8}, {4, q4_1AVXVNNIx4}, {2, q4_1AVXVNNIx2}, {1, q4_1AVXVNNIx1}}, q4_1AVXVNNIx1x4),
		singlePanelsOf(layoutQ8_0, 8, []blockTile{{8, q8_0AVXVNNIx8}, {4, q8_0AVXVNNIx4}, {2, q8_0AVXVNNIx2}, {1, q8_0AVXVNNIx1}}, q8_0AVXVNNIx1x4),
		singlePanelsOf(layoutQ4_K, 8, []blockTile{{8, q4_KAVXVNNIx8}, {4, q4_KAVXVNNIx4}, {2, q4_KAVXVNNIx2}, {1, q4_KAVXVNNIx1}}, q4_KAVXVNNIx1x4),
		singlePanelsOf(layoutQ5_K, 8, []blockTile{{8, q5_KAVXVNNIx8}, {4, q5_KAVXVNNIx4}, {2, q5_KAVXVNNIx2}, {1, q5_KAVXVNNIx1}}, q5_KAVXVNNIx1x4),
	)
}

// panelsAVX512 sets the products with panels of weights.
func panelsAVX512(k *Kernels) {
	k.replacePanels(
		singlePanelsOf(layoutQ4_0, 16, []blockTile{{12, q4_0AVX512x12}, {8, q4_0AVX512x8}, {4, q4_0AVX512x4}, {2, q4_0AVX512x2}, {1, q4_0AVX512x1}}, q4_0AVX512x1x4),
		singlePanelsOf(layoutQ4_1, 16, []blockTile{{12, q4_1AVX512x12}, {8, q4_1AVX512x8}, {4, q4_1AVX512x4}, {2, q4_1AVX512x2}, {1, q4_1AVX512x1}}, q4_1AVX512x1x4),
		singlePanelsOf(layoutQ8_0, 16, []blockTile{{8, q8_0AVX512x8}, {4, q8_0AVX512x4}, {2, q8_0AVX512x2}, {1, q8_0AVX512x1}}, q8_0AVX512x1x4),
		singlePanelsOf(layoutQ4_K, 16, []blockTile{{12, q4_KAVX512x12}, {8, q4_KAVX512x8}, {4, q4_KAVX512x4}, {2, q4_KAVX512x2}, {1, q4_KAVX512x1}}, q4_KAVX512x1x4),
		singlePanelsOf(layoutQ5_K, 16, []blockTile{{12, q5_KAVX512x12}, {8, q5_KAVX512x8}, {4, q5_KAVX512x4}, {2, q5_KAVX512x2}, {1, q5_KAVX512x1}}, q5_KAVX512x1x4),
		singlePanelsOf(layoutQ6_K, 16, []blockTile{{12, q6_KAVX512x12}, {8, q6_KAVX512x8}, {4, q6_KAVX512x4}, {2, q6_KAVX512x2}, {1, q6_KAVX512x1}}, q6_KAVX512x1x4),
		floatPanelsOf(layoutF32, []floatTile{{12, f32AVX512x12}, {8, f32AVX512x8}, {4, f32AVX512x4}, {2, f32AVX512x2}, {1, f32AVX512x1}}, inParts(layoutF32, f32AVX512x1x4)),
		floatPanelsOf(layoutF16, []floatTile{{12, f16AVX512x12}, {8, f16AVX512x8}, {4, f16AVX512x4}, {2, f16AVX512x2}, {1, f16AVX512x1}}, inParts(layoutF16, f16AVX512x1x4)),
		floatPanelsOf(layoutBF16, []floatTile{{12, bf16AVX512x12}, {8, bf16AVX512x8}, {4, bf16AVX512x4}, {2, bf16AVX512x2}, {1, bf16AVX512x1}}, inParts(layoutBF16, bf16AVX512x1x4)),
	)
}

// The tiles of VNNI.
var (
	tilesQ4_0VNNI = []blockTile{{12, q4_0VNNIx12}, {8, q4_0VNNIx8}, {4, q4_0VNNIx4}, {2, q4_0VNNIx2}, {1, q4_0VNNIx1}}
	tilesQ4_1VNNI = []blockTile{{12, q4_1VNNIx12}, {8, q4_1VNNIx8}, {4, q4_1VNNIx4}, {2, q4_1VNNIx2}, {1, q4_1VNNIx1}}
	tilesQ8_0VNNI = []blockTile{{12, q8_0VNNIx12}, {8, q8_0VNNIx8}, {4, q8_0VNNIx4}, {2, q8_0VNNIx2}, {1, q8_0VNNIx1}}
	tilesQ4_KVNNI = []blockTile{{12, q4_KVNNIx12}, {8, q4_KVNNIx8}, {4, q4_KVNNIx4}, {2, q4_KVNNIx2}, {1, q4_KVNNIx1}}
	tilesQ5_KVNNI = []blockTile{{12, q5_KVNNIx12}, {8, q5_KVNNIx8}, {4, q5_KVNNIx4}, {2, q5_KVNNIx2}, {1, q5_KVNNIx1}}
	tilesQ6_KVNNI = []blockTile{{12, q6_KVNNIx12}, {8, q6_KVNNIx8}, {4, q6_KVNNIx4}, {2, q6_KVNNIx2}, {1, q6_KVNNIx1}}
)

// panelsVNNI sets the products with panels of weights.
func panelsVNNI(k *Kernels) {
	k.replacePanels(
		singlePanelsOf(layoutQ4_0, 16, tilesQ4_0VNNI, q4_0VNNIx1x4),
		singlePanelsOf(layoutQ4_1, 16, tilesQ4_1VNNI, q4_1VNNIx1x4),
		singlePanelsOf(layoutQ8_0, 16, tilesQ8_0VNNI, q8_0VNNIx1x4),
		singlePanelsOf(layoutQ4_K, 16, tilesQ4_KVNNI, q4_KVNNIx1x4),
		singlePanelsOf(layoutQ5_K, 16, tilesQ5_KVNNI, q5_KVNNIx1x4),
		singlePanelsOf(layoutQ6_K, 16, tilesQ6_KVNNI, q6_KVNNIx1x4),
	)
}

// panelsAMX sets the products with panels of weights.
func panelsAMX(k *Kernels) {
	of := func(l *panelLayout, rest []blockTile, kernel amxKernel) *Panels {
		return amxPanelsOf(k.PanelsFor(l.format), blockTiles{l, PanelRows, rest}, kernel)
	}
	k.replacePanels(
		of(layoutQ4_0, tilesQ4_0VNNI, amx32(q4_0AMX)),
		of(layoutQ4_1, tilesQ4_1VNNI, amx32(q4_1AMX)),
		of(layoutQ8_0, tilesQ8_0VNNI, amx32(q8_0AMX)),
		of(layoutQ4_K, tilesQ4_KVNNI, amx256(q4_KAMX)),
		of(layoutQ5_K, tilesQ5_KVNNI, amx256(q5_KAMX)),
		of(layoutQ6_K, tilesQ6_KVNNI, amx256(q6_KAMX)),
	)
}
