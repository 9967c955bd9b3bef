package doctor

func (h *Host) system() {}
