/** "GPU 0", "GPUs 0, 1", "1/2 of GPU 0": the GPUs of a process; `share`: k, if each of its processes has 1/k of one. Null: none. */
export function gpusOf({ gpus, gpu_share: share }: { gpus: number[]; gpu_share: number }): string | null {
  const counts = new Map<number, number>()
  for (const gpu of gpus) counts.set(gpu, (counts.get(gpu) ?? 0) + 1)
  const each = [...counts]
  if (each.length === 0) return null
  if (each.every(([, count]) => count === share)) return `GPU${each.length > 1 ? "s" : ""} ${each.map(([gpu]) => gpu).join(", ")}`
  return each.map(([gpu, count]) => `${count === share ? "" : `${count}/${share} of `}GPU ${gpu}`).join(", ")
}
