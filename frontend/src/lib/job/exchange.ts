import type { Exchange, ShardLoad } from "@/client"

export interface Part {
  name: string
  meaning: string
  /** Time of a push. */
  seconds: number
  /** 0 to 1; of all parts. */
  share: number
}

/** Where the time of a push goes. */
export function timeOfPush({ compute, data, send, wait }: Exchange): Part[] {
  const all = compute + data + send + wait
  const part = (name: string, meaning: string, seconds: number) => ({ name, meaning, seconds, share: all > 0 ? seconds / all : 0 })
  return [
    part("Compute", "gradients and local steps", compute),
    part("Data", "waiting for mini-batches", data),
    part("Send", "copying and encoding it, on its way", send),
    part("Wait", "for responses and at the gate", wait),
  ]
}

/** Share of the bytes that a codec saves, 0 to 1; null where nothing is sent, as vectors lie in shared memory. */
export function savedShare({ sent_bytes, raw_bytes }: Exchange): number | null {
  return raw_bytes > 0 ? 1 - sent_bytes / raw_bytes : null
}

/** Shards that hold nothing, as the model is too small to be split into so many slices. */
export function emptyShards(shards: readonly ShardLoad[]): number[] {
  return shards.filter(({ slice_bytes }) => slice_bytes === 0).map(({ rank }) => rank)
}

/** How even the load of the shards is, 0 to 1: the mean of what they work, over that of the busiest. Null with less than two that hold something. */
export function balance(shards: readonly ShardLoad[]): number | null {
  const busy = shards.filter(({ slice_bytes }) => slice_bytes !== 0).map((shard) => shard.busy).filter((share) => share !== null)
  const most = Math.max(...busy)
  return busy.length > 1 && most > 0 ? busy.reduce((sum, share) => sum + share, 0) / busy.length / most : null
}
