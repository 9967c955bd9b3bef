package install

func gemini(scope Scope, p Place, w Wish) []Target   { return nil }
func qwen(scope Scope, p Place, w Wish) []Target     { return nil }
func copilot(scope Scope, p Place, w Wish) []Target  { return nil }
func opencode(scope Scope, p Place, w Wish) []Target { return nil }
