package main

func starts(*bench) error   { return nil }
func batch(*bench) error    { return nil }
func watch(*bench) error    { return nil }
func parallel(*bench) error { return nil }
func memory(*bench) error   { return nil }
func full(*bench) error     { return nil }
