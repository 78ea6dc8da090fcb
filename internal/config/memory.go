package config

const memoryKey = "memory"

// memory decides whether notes are kept from one session to the next.
func (l *loader) memory() error {
	v := value{l.Flags.Memory, "--no-memory"}
	if v.text == "" {
		v = l.own.value(memoryKey)
	}
	l.out.Memory = v.text == "" || l.set("memory", v) == "true"
	return nil
}
