import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { Board } from "./board"

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it("moves at once, and rests when nothing has moved for a while", () => {
  const board = new Board(null)
  const [moved, rested] = [vi.fn(), vi.fn()]
  board.subscribe(moved)
  board.subscribeResting(rested)
  for (let from = 0; from < 5; from++) {
    board.set({ from, to: from + 1 })
    vi.advanceTimersByTime(100)
  }
  expect(moved).toHaveBeenCalledTimes(5)
  expect(rested).not.toHaveBeenCalled()
  expect(board.getResting()).toBeNull()
  vi.advanceTimersByTime(100)
  expect(rested).toHaveBeenCalledTimes(1)
  expect(board.getResting()).toEqual({ from: 4, to: 5 })
})

it("tells nobody of a range that it has already", () => {
  const board = new Board({ from: 1, to: 2 })
  const moved = vi.fn()
  board.subscribe(moved)
  board.set({ from: 1, to: 2 })
  expect(moved).not.toHaveBeenCalled()
})
