import { Kbd, Modal, Text } from "@mantine/core"
import { Link } from "react-router"
import { useKeyGroups, useLetterKeys } from "@/hooks/useKeys"
import classes from "./KeysHelp.module.css"

const SIGNS: Record<string, string> = { " ": "Space", Escape: "Esc", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }

/** The keys that work on the page as it is now. */
export function KeysHelp({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const groups = useKeyGroups()
  const [letters] = useLetterKeys()
  const titles = [...new Set(groups.map(({ title }) => title))]
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" centered closeButtonProps={{ "aria-label": "Close" }}>
      {!letters && (
        <Text size="sm" mb="sm">
          Single-key shortcuts are off. Switch them on in the <Link to="/settings">settings</Link>.
        </Text>
      )}
      {titles.map((title) => (
        <section key={title}>
          <h3 className={classes.title}>{title}</h3>
          <dl className={classes.keys}>
            {groups
              .filter((group) => group.title === title)
              .flatMap(({ bindings }) => bindings)
              .map(({ keys, label }) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd>
                    {keys.map((each) => (
                      <span key={each} className={classes.one}>
                        {(each === " " ? [each] : each.split(" ")).map((key) => (
                          <Kbd key={key}>{SIGNS[key] ?? key}</Kbd>
                        ))}
                      </span>
                    ))}
                  </dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </Modal>
  )
}
