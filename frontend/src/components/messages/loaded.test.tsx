// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { act, cleanup, render, screen } from "@testing-library/react"
import { useEffect } from "react"
import { afterEach, expect, it, vi } from "vitest"
import { Loaded } from "./Loaded"

const AWAY = new TypeError("Failed to fetch")

afterEach(cleanup)

it("says what went wrong where nothing is known", () => {
  render(<Loaded isLoadingError error={AWAY}>known</Loaded>, { wrapper: MantineProvider })
  expect(screen.queryByText("known")).toBeNull()
  expect(screen.getByText(/The server cannot be reached/)).toBeTruthy()
})

it("keeps what is known, in its place, while it cannot be read again", () => {
  const began = vi.fn()
  function Known() {
    useEffect(began, [])
    return <p>known</p>
  }
  const { rerender } = render(<Loaded isLoadingError={false}><Known /></Loaded>, { wrapper: MantineProvider })
  rerender(<Loaded isLoadingError={false} error={AWAY}><Known /></Loaded>)
  expect(screen.getByText("known")).toBeTruthy()
  expect(screen.getByRole("status").textContent).toBe("Last known state: the server cannot be reached.")
  expect(began).toHaveBeenCalledTimes(1)
})

it("says why it takes long, and goes on saying so while it asks again", () => {
  const { rerender } = render(<Loaded isPending failureReason={AWAY}>known</Loaded>, { wrapper: MantineProvider })
  expect(screen.getByRole("alert").textContent).toContain("The server cannot be reached")
  expect(screen.getByRole("alert").textContent).toContain("asks again by itself")
  rerender(<Loaded isPending failureReason={null}>known</Loaded>)
  expect(screen.getByRole("alert")).toBeTruthy()
  rerender(<Loaded isPending={false} error={null}>known</Loaded>)
  expect(screen.queryByRole("alert")).toBeNull()
  expect(screen.getByText("known")).toBeTruthy()
})

it("says that nothing has come for long", () => {
  vi.useFakeTimers()
  render(<Loaded isPending>known</Loaded>, { wrapper: MantineProvider })
  expect(screen.queryByText(/No answer for 10 s/)).toBeNull()
  act(() => void vi.advanceTimersByTime(10_000))
  expect(screen.getByText(/No answer for 10 s.*goes on by itself/)).toBeTruthy()
  vi.useRealTimers()
})
