import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from "react"
import { writeRange, type Range } from "@/lib/charts/axes"
import { Board } from "@/lib/charts/board"
import { useChartSettings } from "./useChartSettings"

export const BoardContext = createContext<Board | null>(null)

/** The board of a page: begins as the address says, and the address follows once the board rests. */
export function useBoardStore(): Board {
  const [{ range }, change] = useChartSettings()
  const [board] = useState(() => new Board(range))
  const text = writeRange(range)
  const written = useRef(text)
  const latest = useRef({ range, change })
  useEffect(() => {
    latest.current = { range, change }
  })
  useEffect(() => {
    if (text === written.current) return
    written.current = text
    board.set(latest.current.range)
  }, [board, text])
  useEffect(
    () =>
      board.subscribeResting(() => {
        const rested = writeRange(board.getResting())
        if (rested === written.current) return
        written.current = rested
        latest.current.change({ range: board.getResting() })
      }),
    [board],
  )
  return board
}

export function useBoard(): Board {
  const board = useContext(BoardContext)
  if (!board) throw new Error("A chart stands outside its BoardContext")
  return board
}

/** The visible range, once it rests: what the server is asked for. */
export function useRestingRange(): Range | null {
  const board = useBoard()
  return useSyncExternalStore(board.subscribeResting, board.getResting)
}
